import type { Response } from 'light-my-request'
import { expect } from 'vitest'
import { publicUrl, type TestApp } from './app.ts'

export const linksUrl = '/v1/projects/payments/registration-links'
export const sessionsUrl = '/v1/registration-sessions'

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

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

export interface Browser {
  cookie: string
  opened: Response
  send(method: Method, url: string, body?: object): Promise<Response>
}

/** Opens the link in a browser of its own. */
export async function openLink(server: TestApp, secret: string): Promise<Browser> {
  const opened = await exchange(server, secret)
  expect(opened.statusCode, opened.body).toBe(201)
  const [cookie = ''] = String(opened.headers['set-cookie']).split(';')
  return {
    cookie,
    opened,
    send: (method, url, body) =>
      server.inject({
        method,
        url,
        headers: { ...pageHeaders, 'x-api-key': 'registration', cookie },
        ...(body && { payload: body }),
      }),
  }
}
