import { expect } from 'vitest'
import { type Algorithm, algorithmNames } from '../../../packages/intake/src/algorithms.ts'
import {
  type TokenCheck,
  type TokenCheckStep,
  tokenCheckSteps,
} from '../../../packages/server/src/features/token-checks/contract.ts'
import type { HttpOptions } from '../../../packages/server/src/kernel/http/options.ts'
import type { TestKey } from '../keys/pem.ts'
import { jwsAlgorithm, keyFor, signToken } from '../keys/tokens.ts'
import { publicUrl, startApp, type TestApp } from './app.ts'
import { registerKey } from './keys.ts'

/** The time of the checks: later than anything created in this run. */
export const noon = Date.parse('2040-05-01T12:00:00.000Z')
export const checksUrl = '/v1/projects/payments/token-checks'

interface Request {
  token: string
  audience?: string
  issuer?: string
}

export interface TokenChecks extends TestApp {
  /** Epoch milliseconds; by default `noon`. */
  setClock(ms: number): void
  /** The project's key for the algorithm. */
  keyOf(algorithm: Algorithm): TestKey & { kid: string }
  /** The issuer of the project. */
  issuer: string
  /** A token of that issuer signed by that key, with claims and additional header members. */
  token(algorithm: Algorithm, claims?: object, header?: object): string
  check(request: Request): Promise<TokenCheck>
  /** The report of a failed check, whose last step failed, and no earlier one. */
  failure(request: Request): Promise<TokenCheck & { step: TokenCheckStep; detail: string }>
}

/** The application with a key for every algorithm; checks are sent by a reader of the project. */
export async function startTokenChecks(http: Partial<HttpOptions> = {}): Promise<TokenChecks> {
  let time = noon
  const clock = { now: () => time, monotonic: () => performance.now() }
  const server = await startApp({ http, clock })
  const reader = await server.apiKey('reader', server.project.id)
  const issuer = `${publicUrl}/v1/projects/${server.project.id}`
  const keys = new Map<Algorithm, TestKey & { kid: string }>()
  for (const algorithm of algorithmNames) {
    const key = keyFor(algorithm)
    const { publicKeyPem } = key
    const name = `a key for ${algorithm}`
    keys.set(algorithm, {
      ...key,
      kid: await registerKey(server, { name, algorithm, publicKeyPem }),
    })
  }
  function keyOf(algorithm: Algorithm) {
    const key = keys.get(algorithm)
    if (key === undefined) throw new Error(`no key for ${algorithm}`)
    return key
  }
  async function check(body: Request): Promise<TokenCheck> {
    const response = await server.send('POST', checksUrl, {
      body,
      headers: { 'x-api-key': reader },
    })
    expect(response.statusCode, response.body).toBe(200)
    expect(response.headers['cache-control']).toBe('no-store')
    return response.json()
  }
  return {
    ...server,
    setClock(ms) {
      time = ms
    },
    keyOf,
    issuer,
    token(algorithm, claims = {}, header = {}) {
      const { privateKey, kid } = keyOf(algorithm)
      const fullHeader = { alg: jwsAlgorithm(algorithm), kid, ...header }
      return signToken(privateKey, fullHeader, { iss: issuer, ...claims })
    },
    check,
    failure: async (body) => withLastStep(await check(body)),
  }
}

function withLastStep(report: TokenCheck) {
  const names = report.steps.map(({ step }) => step)
  expect(names).toEqual(tokenCheckSteps.slice(0, names.length))
  const failed = report.steps.map(({ outcome }) => outcome === 'failed')
  expect(failed).toEqual([...names.slice(1).map(() => false), true])
  expect(report.valid).toBe(false)
  const last = report.steps.at(-1)
  if (last === undefined) throw new Error('no step')
  return { ...report, step: last.step, detail: last.detail }
}
