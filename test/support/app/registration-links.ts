import type { Response } from 'light-my-request'
import { expect } from 'vitest'
import type { LedgerEvent } from '../../../packages/server/src/kernel/ledger/chain.ts'
import { readEvents } from '../../../packages/server/src/kernel/ledger/event-reads.ts'
import { ecKey } from '../keys/pem.ts'
import { signToken } from '../keys/tokens.ts'
import { publicUrl, startApp, type TestApp } from './app.ts'
import { type TestClock, testClock } from './clock.ts'
import { keysUrl } from './keys.ts'

export const linksUrl = '/v1/projects/payments/registration-links'
export const sessionsUrl = '/v1/registration-sessions'
export const tokenChecksUrl = '/v1/projects/payments/token-checks'
export const dayMs = 86_400_000
export const returnOrigin = 'https://platform.example.com'

export interface LinksApp extends TestApp {
  clock: TestClock
  /** All that was logged. */
  log(): string
  events(): Promise<LedgerEvent[]>
}

export async function startLinks(http: object = {}): Promise<LinksApp> {
  const clock = testClock()
  const lines: string[] = []
  const logStream = { write: (line: string) => void lines.push(line) }
  const config = { returnOrigins: [returnOrigin] }
  const app = await startApp({ clock, config, http: { ...http, logStream } })
  return {
    ...app,
    clock,
    log: () => lines.join(''),
    events: () => readEvents(app.context.store.reader, app.project.id, { after: 0, limit: 1_000 }),
  }
}

export interface CreatedLink {
  id: string
  url: string
  secret: string
}

/** Creates a link, by default in the project payments. */
export async function createLink(
  { send }: Pick<TestApp, 'send'>,
  members: object = {},
  url = linksUrl,
): Promise<CreatedLink> {
  const response = await send('POST', url, { body: { note: 'ACME', ...members } })
  expect(response.statusCode, response.body).toBe(201)
  const link = response.json()
  return { ...link, secret: new URL(link.url).hash.slice(1) }
}

const pageHeaders = { 'sec-fetch-site': 'same-origin', origin: new URL(publicUrl).origin }

/** What the page sends to open a link, with the cookie that the browser has. */
export function exchange(
  { inject }: Pick<TestApp, 'inject'>,
  secret: string,
  headers: Record<string, string> = {},
): Promise<Response> {
  return inject({
    method: 'POST',
    url: sessionsUrl,
    payload: { secret },
    headers: { ...pageHeaders, ...headers },
  })
}

type Method = 'GET' | 'HEAD' | 'POST' | 'PATCH' | 'DELETE'

export interface Browser {
  cookie: string
  /** What the page sends with each request once the link is open. */
  headers: { 'x-api-key': string; cookie: string }
  opened: Response
  send(method: Method, url: string, body?: object): Promise<Response>
}

/** Opens the link in a browser of its own. */
export async function openLink(server: TestApp, secret: string): Promise<Browser> {
  const opened = await exchange(server, secret)
  expect(opened.statusCode, opened.body).toBe(201)
  const [cookie = ''] = String(opened.headers['set-cookie']).split(';')
  const headers = { 'x-api-key': `registration:${opened.json().id}`, cookie }
  return {
    cookie,
    headers,
    opened,
    send: (method, url, body) =>
      server.inject({
        method,
        url,
        headers: { ...pageHeaders, ...headers },
        ...(body && { payload: body }),
      }),
  }
}

/** Opens a new link in a browser of its own. */
export async function newBrowser(
  server: TestApp,
  members?: object,
  url?: string,
): Promise<Browser> {
  return openLink(server, (await createLink(server, members, url)).secret)
}

export const keyBody = (publicKeyPem = ecKey().publicKeyPem) => ({
  name: 'orders',
  algorithm: 'ES256',
  publicKeyPem,
})

/** Registers a new key in the browser; `sign` makes a token that is valid. */
export async function bringKey({ send, opened }: Browser) {
  const { publicKeyPem, privateKey } = ecKey()
  const created = await send('POST', keysUrl, keyBody(publicKeyPem))
  expect(created.statusCode, created.body).toBe(201)
  const { kid } = created.json()
  const claims = { iss: opened.json().issuer, exp: 9_999_999_999 }
  const sign = () => signToken(privateKey, { alg: 'ES256', kid }, claims)
  return { kid, publicKeyPem, privateKey, sign }
}
