import http from 'node:http'
import process from 'node:process'
import type { Client } from '../../../client/src/index.ts'
import { createClient } from '../../../client/src/index.ts'
import type { Environment } from '../../config/setting.ts'
import { CommandError, usageError } from '../terminal/failures.ts'
import { notify, printResult } from '../terminal/output.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { readVersion } from '../terminal/version.ts'
import { type Connection, type ConnectionFlags, resolveConnection } from './connection.ts'
import { explain } from './faults.ts'

/** What a command that calls a server works with. */
export interface Session {
  terminal: Terminal
  connection: Connection
  client: Client
  /** Id or name, as given. */
  project: string
  json: boolean
  /** The result on stdout: the document with `--json`, else the text. */
  print(document: unknown, text: () => string): void
  /** The time of the server, in milliseconds: this machine's clock may be wrong. */
  now(): number
  /** Something else that a person wants to know, on stderr. */
  notify(line: string): void
}

interface Needs {
  /** Public operations are called without an API key. */
  access?: 'public'
}

/** Runs the action against the server that options, environment and profiles name. */
export async function withSession(
  terminal: Terminal,
  flags: ConnectionFlags,
  action: (session: Session) => Promise<void>,
  { access }: Needs = {},
): Promise<void> {
  const connection = resolveConnection(terminal.env, flags)
  if (connection.apiKey === undefined && access !== 'public') throw missingApiKey(connection)
  await openConnection(terminal, connection, flags.json === true, action)
}

/** The same over a connection that is known. */
export async function openConnection(
  terminal: Terminal,
  connection: Connection,
  json: boolean,
  action: (session: Session) => Promise<void>,
): Promise<void> {
  const restore = goByProxy(terminal.env)
  const session = openSession(terminal, connection, json)
  try {
    await action(session)
  } catch (error) {
    throw await explain(error, session)
  } finally {
    restore()
  }
}

function openSession(terminal: Terminal, connection: Connection, json: boolean): Session {
  const { url, apiKey, timeout, project } = connection
  const clock = serverClock()
  const client = createClient({
    url,
    timeout,
    // Whoever waits at a prompt would rather be told.
    retries: 1,
    fetch: clock.fetch,
    userAgent: `pubring/${readVersion()}`,
    ...(apiKey === undefined ? {} : { apiKey }),
  })
  return {
    terminal,
    connection,
    client,
    project,
    json,
    now: clock.now,
    print: (document, text) => printResult(terminal, json, document, text),
    notify: (line) => notify(terminal, line),
  }
}

/** Milliseconds: the `Date` of an answer has whole seconds, so less cannot be told from none. */
const leastSkew = 2_000

/** Learns from the answers how far the server's clock is from this machine's. */
function serverClock() {
  let skew = 0
  return {
    now: () => Date.now() + skew,
    async fetch(...request: Parameters<typeof fetch>): Promise<Response> {
      const answer = await fetch(...request)
      const told = Date.parse(answer.headers.get('date') ?? '')
      const difference = told + 500 - Date.now()
      skew = Math.abs(difference) >= leastSkew ? difference : 0
      return answer
    },
  }
}

function missingApiKey({ url }: Connection): CommandError {
  return new CommandError('unauthorized', `No API key for ${url} is set.`, {
    code: 'missing_api_key',
    hints: [
      'export PUBRING_API_KEY=…, name a file with PUBRING_API_KEY_FILE, or run pubring login.',
      'The first start of the server prints one; pubring api-key create --admin makes one at the database.',
    ],
  })
}

const proxyVariables = ['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy']

/** Lets requests go by the proxy that the environment names; answers what undoes that. */
function goByProxy(env: Environment): () => void {
  if (!proxyVariables.some((name) => (env[name] ?? '') !== '')) return () => {}
  if (typeof http.setGlobalProxyFromEnv !== 'function') {
    throw usageError(
      `This Node (${process.version}) knows no proxies, and the environment names one.`,
      'Take Node 26, or unset HTTP_PROXY and HTTPS_PROXY.',
    )
  }
  return http.setGlobalProxyFromEnv({ ...env })
}
