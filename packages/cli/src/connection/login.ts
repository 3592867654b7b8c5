import { spawn } from 'node:child_process'
import { hash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { hostname } from 'node:os'
import process from 'node:process'
import type { Self } from '@pubring/client'
import type { SessionKey } from '@pubring/server/features/sign-in/contract'
import { present } from '@pubring/server/runtime/present'
import { CommandError } from '../terminal/failures.ts'
import { readText } from '../terminal/files.ts'
import { isInteractive, notify, printResult, type Terminal } from '../terminal/terminal.ts'
import {
  type Profile,
  profileNamed,
  readConfiguration,
  writeConfiguration,
} from './configuration.ts'
import {
  type Connection,
  type ConnectionFlags,
  isLoopback,
  parseApiKey,
  profileIn,
  resolveServer,
} from './connection.ts'
import {
  renewedMembers,
  requestSessionKey,
  type Session,
  unless,
  withConnection,
  withSession,
} from './session.ts'

interface LoginFlags extends ConnectionFlags {
  browser: boolean
  recent?: true
}

/**
 * Signs in through the browser, or tries an API key, and stores the secrets with the address as a
 * profile.
 */
export async function login(terminal: Terminal, flags: LoginFlags): Promise<void> {
  const { env } = terminal
  const { server, profile: before, profileName: name } = resolveServer(env, flags)
  const { url } = server
  if (url.startsWith('http:') && !isLoopback(new URL(url))) {
    notify(terminal, 'The address is http: the API key is sent unencrypted.')
  }
  const connection = { ...server, apiKeySource: 'the input' }
  const secrets = await obtainSecrets(terminal, connection, flags)
  await withConnection(terminal, { ...connection, ...secrets }, async ({ client, print }) => {
    const self = await client.sessions.self()
    const [grant, ...others] = self.grants
    const chosen = flags.project ?? (before.url === url ? before.project : undefined)
    const project = chosen ?? (others.length === 0 ? grant?.projectId : undefined)
    if (project !== undefined) await client.projects.get(project)
    // Read only now: other commands may have changed it during the sign-in.
    const { path, profiles } = readConfiguration(env)
    const profile = { url, ...present({ project }), ...secrets }
    writeConfiguration({ path, profiles: { ...profiles, [name]: profile } })
    print({ profile: name, url, project, self })
    notify(terminal, `“${self.name}” (${rolesOf(self)}) at ${url} is profile ${name} in ${path}.`)
  })
}

function rolesOf({ grants }: Self): string {
  return grants.map(({ role, projectId: id }) => (id ? `${role} of ${id}` : role)).join(', ')
}

/**
 * Has a person sign in with the browser, if the server offers it and one is at the terminal. Otherwise
 * reads an API key.
 */
async function obtainSecrets(
  terminal: Terminal,
  connection: Connection,
  flags: LoginFlags,
): Promise<Profile> {
  const canSignIn = flags.apiKeyFile === undefined && (isInteractive(terminal) || !flags.browser)
  let secrets: Profile | undefined
  if (canSignIn) {
    await withConnection(terminal, connection, async (session) => {
      const { oidc } = await session.client.sessions.options()
      if (oidc === undefined) return
      const issued = await signInWithBrowser(session, oidc.url, flags)
      const { renewalSecret = '' } = issued
      secrets = { ...renewedMembers(issued), renewalSecret }
    })
  }
  const { url } = connection
  return secrets ?? { apiKey: parseApiKey(await readSecret(terminal, url, flags), 'The input') }
}

/** Shows who the caller is, their roles, and where their API key comes from and when it ends. */
export async function showSelf(session: Session): Promise<void> {
  const { client, print, notify, apiKeySource } = session
  const self = await client.sessions.self()
  const apiKey = self.type === 'api_key' ? await client.apiKeys.self() : undefined
  const end = apiKey?.expireTime === undefined ? '' : `, until ${apiKey.expireTime}`
  print({ ...self, ...present({ apiKey }) }, () => `${self.name} (${rolesOf(self)})${end}\n`)
  if (apiKey !== undefined) notify(`The API key comes from ${apiKeySource}.`)
}

/** Ends the session of a profile, and removes the profile. */
export async function logout(terminal: Terminal, flags: { profile?: string }): Promise<void> {
  const { env } = terminal
  const name = profileIn(env, flags.profile)
  const { renewalSecret } = profileNamed(readConfiguration(env), name)
  if (renewalSecret !== undefined) {
    await withSession(terminal, { profile: name }, async ({ client }) => {
      await unless('invalid_session', client.sessions.signOut())
    })
  }
  // Read only now: the session may have been renewed.
  const { path, profiles } = readConfiguration(env)
  const { [name]: _removed, ...others } = profiles
  writeConfiguration({ path, profiles: others })
  printResult(terminal, { loggedOut: name })
  const rest =
    renewalSecret === undefined
      ? 'The API key is still valid; an admin can end it with pubring api-key update.'
      : 'The session has ended.'
  notify(terminal, `Profile ${name} is removed. ${rest}`)
}

async function readSecret(
  terminal: Terminal,
  url: string,
  { apiKeyFile = '-' }: LoginFlags,
): Promise<string> {
  if (apiKeyFile !== '-' || !isInteractive(terminal)) return readText(apiKeyFile, terminal)
  const { default: password } = await import('@inquirer/password')
  const { stdin: input, stderr: output } = terminal
  return password({ message: `API key for ${url}:`, mask: true }, { input, output })
}

/** How long the person may take in the browser. */
const timeoutMs = 600_000

/** Has the person sign in, and approve it, in the browser; see `features/sign-in/command-line.ts`. */
async function signInWithBrowser(
  { terminal, url, notify }: Session,
  signInUrl: string,
  { browser, recent }: LoginFlags,
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
