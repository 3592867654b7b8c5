import { expect } from 'vitest'
import type { AccessRule } from '../../../packages/server/src/features/access-rules/contract.ts'
import { startIssuer, type TestIssuer } from '../network/issuer.ts'
import { startApp, type TestApp } from './app.ts'
import { type TestClock, testClock } from './clock.ts'

export const accessRulesUrl = '/v1/access-rules'

export interface WorkloadApp extends TestApp {
  clock: TestClock
  issuer: TestIssuer
  /** Creates a rule that accepts the tokens of the issuer, with these differences. */
  rule(members?: object): Promise<AccessRule>
  /** Sends a token exchange, with these differences; `undefined` leaves a parameter out. */
  exchange(
    token: string,
    parameters?: Record<string, string | undefined>,
  ): ReturnType<TestApp['send']>
  /** The secret of an API key exchanged for a new token of the issuer. */
  exchangedKey(claims?: object): Promise<string>
  /** The report of a check. */
  check(id: string, token: string): Promise<Record<string, unknown>>
}

type Options = NonNullable<Parameters<typeof startApp>[0]>

/** The application beside a real issuer, whose host may have a private address. */
export async function startWorkloadApp({ config, ...options }: Options = {}): Promise<WorkloadApp> {
  const clock = testClock()
  const issuer = await startIssuer(clock)
  const fetch = issuer.server.fetchWith()
  const app = await startApp({
    clock,
    fetch,
    ...options,
    config: { refusalDelayMs: 0, ...config },
  })
  const server: WorkloadApp = {
    ...app,
    clock,
    issuer,
    async rule(members = {}) {
      const body = {
        for: 'workloads',
        name: 'orders, deploy',
        issuer: issuer.url,
        conditions: { repository_id: '74', ref: 'refs/heads/*' },
        role: 'writer',
        project: 'payments',
        ...members,
      }
      const response = await app.send('POST', accessRulesUrl, { body })
      expect(response.statusCode, response.body).toBe(201)
      return response.json()
    },
    exchange(token, parameters = {}) {
      const all = { ...exchangeParameters, subject_token: token, ...parameters }
      const present = Object.entries(all).flatMap(([name, value]) =>
        value === undefined ? [] : [[name, value]],
      )
      return sendForm(app, new URLSearchParams(present).toString())
    },
    async exchangedKey(claims) {
      const response = await server.exchange(issuer.token(claims))
      expect(response.statusCode, response.body).toBe(200)
      return response.json().access_token
    },
    async check(id, token) {
      const response = await app.send('POST', `${accessRulesUrl}/${id}/checks`, { body: { token } })
      expect(response.statusCode, response.body).toBe(200)
      return response.json()
    },
  }
  return server
}

export const exchangeParameters = {
  grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
  subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
}

/** Sends a form to the token endpoint, without an API key. */
export function sendForm(
  app: Pick<TestApp, 'inject'>,
  payload: string | Buffer,
  headers: Record<string, string> = {},
) {
  return app.inject({
    method: 'POST',
    url: '/v1/token',
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    payload,
  })
}
