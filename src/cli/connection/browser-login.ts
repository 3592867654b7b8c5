import { spawn } from 'node:child_process'
import { hash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { hostname } from 'node:os'
import process from 'node:process'
import type { SessionKey } from '../../contract/sign-in/command-line.ts'
import { CommandError } from '../terminal/failures.ts'
import { requestSessionKey } from './renewal.ts'
import type { Session } from './session.ts'

/** How long the person may take in the browser. */
const timeoutMs = 600_000

/** Flags of `login` about the browser. */
export interface BrowserFlags {
  browser: boolean
  recent?: true
}

/** Has the person sign in, and approve it, in the browser; see `core/sign-in/command-line.ts`. */
export async function signInWithBrowser(
  { terminal, url, notify }: Session,
  signInUrl: string,
  { browser, recent }: BrowserFlags,
): Promise<SessionKey> {
  const codeVerifier = randomBytes(32).toString('base64url')
  const state = randomBytes(16).toString('base64url')
  const server = listenForCode(state)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const signal = AbortSignal.any([terminal.interruptSignal(), AbortSignal.timeout(timeoutMs)])
  try {
    const client = `${terminal.env.USER ?? 'user'}@${hostname()}`
    const query = new URLSearchParams({
      port: String(port),
      code_challenge: hash('sha256', codeVerifier, 'base64url'),
      state,
      client: client.replace(/[^\w.@-]/g, '-').slice(0, 100),
    })
    const again = new URLSearchParams({ recent: 'true', return: `/sign-in/cli?${query}` })
    const address = recent ? `${signInUrl}?${again}` : `${signInUrl}/cli?${query}`
    notify(`Sign in in the browser: ${address}`)
    if (browser) openBrowser(address)
    const [code] = await once(server, 'code', { signal }).catch(() => {
      throw new CommandError(
        'interrupted',
        'Interrupted, or the sign-in took longer than ten minutes.',
      )
    })
    return await requestSessionKey({ url, fetch }, { code, codeVerifier, port })
  } finally {
    server.close()
  }
}

/** Listens on loopback (RFC 8252 section 7.3), and emits the `code` of the request with the state. */
function listenForCode(state: string): Server {
  const server = createServer(({ url = '' }, response) => {
    const query = new URLSearchParams(url.slice(url.indexOf('?')))
    const isExpected = query.get('state') === state
    const headers = { 'content-type': 'text/plain; charset=utf-8', connection: 'close' }
    response.writeHead(isExpected ? 200 : 404, headers)
    response.end(isExpected ? 'You can close this page and go back to the terminal.' : '')
    if (isExpected) server.emit('code', query.get('code'))
  })
  return server.listen(0, '127.0.0.1')
}

const openers: Readonly<Record<string, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
}

/** Best effort: the address is printed as well. */
function openBrowser(address: string): void {
  const [command, ...args] = openers[process.platform] ?? ['xdg-open']
  const child = spawn(command, [...args, address], { stdio: 'ignore', detached: true })
  child.on('error', () => {})
  child.unref()
}
