import http from 'node:http'
import process from 'node:process'
import {
  type Client,
  type ClientOptions,
  type Confirmation,
  createClient,
  PubringError,
} from '@pubring/client'
import { create, repeatable } from '@pubring/client/internal/operations'
import { createTransport } from '@pubring/client/internal/transport/transport'
import type { Environment } from '@pubring/server/config/setting'
import type { SessionKey, SessionKeyRequest } from '@pubring/server/features/sign-in/contract'
import { present } from '@pubring/server/runtime/present'
import { readVersion } from '@pubring/server/runtime/version'
import { confirm, type YesFlag } from '../terminal/confirm.ts'
import { CommandError, usageError } from '../terminal/failures.ts'
import { notify, printResult, type Terminal } from '../terminal/terminal.ts'
import { type FailedCall, toCommandError } from './client-errors.ts'
import { commandLine } from './command-lines.ts'
import { type Profile, readConfiguration, writeConfiguration } from './configuration.ts'
import { type Connection, type ConnectionFlags, resolveConnection } from './connection.ts'

/** The context of a command that calls a server. */
export interface Session extends FailedCall {
  client: Client
  /** Writes the result to stdout: the document with `--json`, else the text. */
  print(document: unknown, text?: () => string): void
  /** The server's time in milliseconds; the clock of this machine may be wrong. */
  now(): number
  notify(line: string): void
}

/** Runs the action against the server that the options, environment and profiles select. */
export async function withSession(
  terminal: Terminal,
  flags: ConnectionFlags,
  action: (session: Session) => Promise<void>,
): Promise<void> {
  const connection = resolveConnection(terminal.env, flags)
  if (connection.apiKeySource === undefined) throw missingApiKey(connection, terminal)
  await withConnection(terminal, connection, action)
}

/** Runs the action over the connection; public operations need no API key. */
export async function withConnection(
  terminal: Terminal,
  connection: Connection,
  action: (session: Session) => Promise<void>,
): Promise<void> {
  const restoreProxy = configureProxy(terminal.env)
  const session = createSession(terminal, connection)
  try {
    await action(session)
  } catch (error) {
    throw toCommandError(error, session)
  } finally {
    restoreProxy()
  }
}

export function createSession(terminal: Terminal, connection: Connection): Session {
  const { url, apiKey, timeoutMs, accessRule, renewedProfile } = connection
  const clock = createServerClock(terminal)
  const options: ClientOptions = {
    url,
    timeout: timeoutMs,
    totalTimeout: timeoutMs,
    // A user at a prompt prefers an early error to more retries.
    retries: 1,
    fetch:
      renewedProfile === undefined
        ? clock.fetch
        : renewingFetch(terminal.env, renewedProfile, { url, send: clock.fetch }),
    userAgent: userAgent(),
    ...present({ apiKey, credentials: credentialsOf(connection, terminal), accessRule }),
  }
  return {
    ...connection,
    terminal,
    client: createClient(options),
    now: clock.now,
    print: (document, text) => printResult(terminal, document, text),
    notify: (line) => notify(terminal, line),
  }
}

/** Reads the token to exchange for an API key. */
function credentialsOf({ idToken }: Connection, terminal: Terminal) {
  if (idToken === undefined) return undefined
  let isFirst = true
  return async () => {
    const token = await idToken.read()
    if (isFirst) notify(terminal, `No API key is set: ${idToken.source} is exchanged for one.`)
    isFirst = false
    return token
  }
}

/** Milliseconds. `Date` headers have whole seconds, so a smaller difference is noise. */
const minSkewMs = 2_000

/** Measures the difference between the server's clock and this machine's from its responses. */
function createServerClock(terminal: Terminal) {
  let skewMs = 0
  return {
    now: () => Date.now() + skewMs,
    async fetch(...[input, init]: Parameters<typeof fetch>): Promise<Response> {
      const signals = [init?.signal, terminal.requestsEnd].flatMap((signal) => signal ?? [])
      const response = await fetch(input, { ...init, signal: AbortSignal.any(signals) })
      const { headers } = response
      // A cache may have kept the response for its `Age`.
      const age = Number(headers.get('age')) || 0
      const serverTime = Date.parse(headers.get('date') ?? '') + age * 1_000
      const difference = serverTime + 500 - Date.now()
      skewMs = Math.abs(difference) >= minSkewMs ? difference : 0
      return response
    },
  }
}

/** Makes the session use the project that the source names. */
export function selectProject(session: Session, project: string, projectSource: string): void {
  Object.assign(session, { project, projectSource })
}

export function missingApiKey(connection: Connection, { env }: Terminal): CommandError {
  const { url } = connection
  const inPipelines = `A pipeline needs none where an access rule accepts its tokens: GitHub Actions gives one to jobs with “permissions: id-token: write”, GitLab CI to those with “id_tokens: PUBRING_ID_TOKEN: aud: ${url}”.`
  return new CommandError('unauthorized', `No API key for ${url} is set.`, {
    code: 'missing_api_key',
    hints: [
      ...(env.CI === 'true' ? [inPipelines] : []),
      'Run export PUBRING_API_KEY=…, or set PUBRING_API_KEY_FILE to a file. The first start of the server prints one.',
      `To sign in, or to store an API key: ${commandLine(connection, 'login')}`,
      'To create one, on the machine of the database: pubring api-key create --admin',
    ],
  })
}

const proxyVariables = ['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy']

/** Sends requests through the proxy that the environment names. Returns a function that undoes it. */
export function configureProxy(env: Environment): () => void {
  if (!proxyVariables.some((name) => (env[name] ?? '') !== '')) return () => {}
  if (typeof http.setGlobalProxyFromEnv !== 'function') {
    throw usageError(
      `Node ${process.version} does not support the proxy that the environment sets.`,
      'Use Node 26, or unset HTTP_PROXY and HTTPS_PROXY.',
    )
  }
  return http.setGlobalProxyFromEnv({ ...env })
}

/** Undefined if the server answers with the code, because another run was faster, for example. */
export async function unless<Result>(
  code: string,
  request: Promise<Result>,
): Promise<Result | undefined> {
  return request.catch((error: unknown) => {
    if (!hasCode(error, code)) throw error
    return undefined
  })
}

/** Whether the server or the client failed with the code. */
export function hasCode(error: unknown, code: string): error is PubringError {
  return error instanceof PubringError && error.code === code
}

/** How long before its end an API key is renewed. */
const marginMs = 60_000

/** The `User-Agent` of the requests of a session. */
const userAgent = () => `pubring/${readVersion()}`

/** The members of a profile that hold an API key of a session. */
export function renewedMembers({ apiKey, expiresIn }: SessionKey): Profile {
  const renewTime = new Date(Date.now() + expiresIn * 1_000 - marginMs).toISOString()
  return { apiKey, renewTime }
}

/** An API key of a session, for a code, which is accepted once, or for the secret of the session. */
export async function requestSessionKey(
  options: { url: string; fetch: typeof fetch },
  body: SessionKeyRequest,
): Promise<SessionKey> {
  const transport = createTransport({ ...options, retries: 1, userAgent: userAgent() })
  const operation = (body.code === undefined ? repeatable : create)('/session-keys', body, 'apiKey')
  return (await transport.send({ ...operation, access: 'public' })).body as SessionKey
}

/** Sends requests with the API key of the profile, which is renewed in time. */
function renewingFetch(
  env: Environment,
  profileName: string,
  { url, send }: { url: string; send: typeof fetch },
): typeof fetch {
  let pending: Promise<string> | undefined

  async function renew(renewalSecret: string): Promise<string> {
    const issued = await requestSessionKey({ url, fetch: send }, { renewalSecret })
    const configuration = readConfiguration(env)
    const { [profileName]: profile } = configuration.profiles
    // Unless a logout or another login came in between.
    if (profile?.renewalSecret === renewalSecret) {
      const profiles = { [profileName]: { ...profile, ...renewedMembers(issued) } }
      writeConfiguration({ ...configuration, profiles: { ...configuration.profiles, ...profiles } })
    }
    return issued.apiKey
  }
  /** Reads the file each time, since another process may have renewed it. */
  async function currentApiKey(): Promise<string> {
    const profile = readConfiguration(env).profiles[profileName] ?? {}
    const { apiKey = '', renewTime = '', renewalSecret } = profile
    if (renewalSecret === undefined || renewTime > new Date().toISOString()) return apiKey
    pending ??= renew(renewalSecret).finally(() => {
      pending = undefined
    })
    return pending
  }

  return async (input, init) => {
    const headers = new Headers(init?.headers)
    if (headers.has('x-api-key')) headers.set('x-api-key', await currentApiKey())
    return send(input, { ...init, headers })
  }
}

/** Sends a change. If it takes access from the caller, asks, and sends it with the confirmation. */
export async function confirmOwn<Result>(
  { terminal }: Session,
  flags: YesFlag,
  send: (confirmation: Confirmation) => Promise<Result>,
): Promise<Result> {
  try {
    return await send({})
  } catch (error) {
    if (!hasCode(error, 'own_access')) throw error
    await confirm(terminal, flags, {
      statement: 'This takes access that you use yourself.',
      question: 'Do it all the same?',
      needsYes: true,
    })
    return send({ confirm: 'self' })
  }
}
