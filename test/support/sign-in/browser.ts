import type { Response as InjectResponse } from 'light-my-request'
import { publicUrl, type TestApp } from '../app/app.ts'
import type { TestProvider } from './provider.ts'

/** A browser at the provider and at Pubring, which follows redirects and keeps cookies. */
export interface TestBrowser {
  /** By host, name and value. */
  cookies: Map<string, Map<string, string>>
  /** Begins a sign-in; returns the address that the provider redirects to, not yet visited. */
  authorize(query?: string): Promise<string>
  /** Visits an address of Pubring. */
  visit(url: string): Promise<InjectResponse>
  signIn(query?: string): Promise<InjectResponse>
}

/** `servers`: the replicas; each visit goes to the next one. */
export function createBrowser(provider: TestProvider, ...servers: TestApp[]): TestBrowser {
  const cookies = new Map<string, Map<string, string>>()
  const fetch = provider.server.fetchWith()
  let visits = 0
  const jarOf = (host: string) => {
    const jar = cookies.get(host) ?? new Map<string, string>()
    cookies.set(host, jar)
    return jar
  }
  const header = (host: string) =>
    [...jarOf(host)].map(([name, value]) => `${name}=${value}`).join('; ')
  function keep(host: string, lines: string[]): void {
    for (const line of lines) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (value === '') jarOf(host).delete(name)
      else jarOf(host).set(name, value)
    }
  }
  async function visit(url: string): Promise<InjectResponse> {
    const host = new URL(publicUrl).host
    const server = servers[visits % servers.length]
    visits += 1
    if (server === undefined) throw new Error('no server')
    const path = url.replace(publicUrl, '')
    const answer = await server.inject({ url: path, headers: { cookie: header(host) } })
    keep(host, [answer.headers['set-cookie'] ?? []].flat())
    return answer
  }
  async function authorize(query = ''): Promise<string> {
    let url = String((await visit(`/sign-in${query}`)).headers.location)
    while (!url.startsWith(publicUrl)) {
      const { host } = new URL(url)
      const answer = await fetch(url, { headers: { cookie: header(host) }, redirect: 'manual' })
      keep(host, answer.headers.getSetCookie())
      const location = answer.headers.get('location')
      if (location === null) throw new Error(`${url}: ${answer.status} ${await answer.text()}`)
      url = new URL(location, url).href
    }
    return url
  }
  return {
    cookies,
    authorize,
    visit,
    signIn: async (query) => visit(await authorize(query)),
  }
}
