import { type Client, PubringError } from '../../../client/src/index.ts'
import { nearest } from '../../nearest.ts'
import { type ExitKind, kindOfStatus } from '../terminal/exit-codes.ts'
import { CommandError } from '../terminal/failures.ts'
import type { Terminal } from '../terminal/terminal.ts'
import type { Connection } from './connection.ts'

/** The call that failed: what its errors and hints name. */
export interface FailedCall {
  connection: Connection
  client: Client
  terminal: Terminal
}

/** The error of a command, from what the client threw: its kind, and what to do about it. */
export async function explain(error: unknown, session: FailedCall): Promise<unknown> {
  if (!(error instanceof PubringError)) return error
  const { code, status, problem, requestId } = error
  const kind = kindOf(error)
  return new CommandError(kind, sentence(error, session), {
    code,
    hints: await hintsFor(error, session),
    problem: problem ?? {
      ...(status === undefined ? {} : { status }),
      ...(requestId === undefined ? {} : { requestId }),
    },
  })
}

const kindsByCode: Readonly<Record<string, ExitKind>> = {
  timeout: 'unavailable',
  aborted: 'interrupted',
  unexpected_response: 'untrusted',
  invalid_url: 'usage',
  invalid_path: 'usage',
  invalid_api_key_text: 'unauthorized',
}

function kindOf(error: PubringError): ExitKind {
  const { code, status = 0 } = error
  if (code === 'unreachable')
    return isCertificateFault(causeOf(error)) ? 'untrusted' : 'unavailable'
  return kindsByCode[code] ?? kindOfStatus(status)
}

/** What `fetch` met: the code of the system or of TLS. */
export function causeOf(error: unknown): string {
  for (let each = error, depth = 0; each instanceof Error && depth < 5; depth += 1) {
    if ('code' in each && typeof each.code === 'string' && /^[A-Z]/.test(each.code))
      return each.code
    const inner = each instanceof AggregateError ? each.errors[0] : each.cause
    each = inner
  }
  return ''
}

/** Whether the code is one of TLS. */
export function isCertificateFault(cause: string): boolean {
  return /CERT|SELF_SIGNED|UNABLE_TO_(?:VERIFY|GET_ISSUER)|_SSL_/.test(cause)
}

function sentence(error: PubringError, session: FailedCall): string {
  if (error.code !== 'unreachable') return sentences[error.code]?.(session) ?? error.message
  const { url } = session.connection
  const code = causeOf(error)
  if (code === 'ECONNREFUSED') return `No server listens at ${url}.`
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `There is no host by the name in ${url}.`
  if (code === 'CERT_HAS_EXPIRED') return `The certificate of ${url} has expired.`
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return `The certificate of ${url} is for another host.`
  }
  if (/_SSL_/.test(code)) return `What listens at ${url} does not speak TLS (${code}).`
  if (isCertificateFault(code)) return `The certificate of ${url} is not trusted here (${code}).`
  return error.message
}

/** Where the service speaks of requests, to somebody who types commands. */
const sentences: Readonly<Record<string, (session: FailedCall) => string>> = {
  project_not_found: ({ connection: { project } }) =>
    `There is no project “${project}” that the API key may see.`,
  key_active: () => 'The key is active: verifiers may still need it.',
}

/** One line each. */
async function hintsFor(error: PubringError, session: FailedCall): Promise<string[]> {
  const { code, retryAfter } = error
  const { connection } = session
  if (code === 'unreachable') return unreachableHints(error, session)
  const hints = hintsByCode[code]?.(error, session) ?? []
  if (code === 'project_not_found') return [...(await nearProjects(session)), ...hints]
  if (error.status === 401) return [`It came from ${connection.apiKeySource}.`, ...hints]
  if (retryAfter !== undefined) return [`Try again in ${retryAfter} s.`, ...hints]
  return [...hints]
}

type Hints = (error: PubringError, session: FailedCall) => string[]

const hintsByCode: Readonly<Record<string, Hints>> = {
  invalid_api_key: () => [
    'pubring login stores another one; where the database is, pubring api-key create --admin makes one.',
  ],
  insufficient_role: (_error, { connection }) => [
    `The API key came from ${connection.apiKeySource}; pubring api-key show tells its role.`,
  ],
  project_not_found: (_error, { connection }) => [
    `The project came from ${connection.projectSource}; pubring project list shows those that your API key may see.`,
  ],
  key_not_found: () => ['pubring key list shows the keys of the project.'],
  api_key_not_found: () => ['pubring api-key list shows the API keys.'],
  key_active: () => [
    'Switch it off first with pubring key deactivate, or rotate: pubring key rotate',
  ],
  project_not_empty: (_error, { connection: { project } }) => [
    `Its keys must go first: pubring key list --project ${project}`,
  ],
  duplicate_key: ({ problem }) =>
    problem?.kid === undefined ? [] : [`pubring key show ${problem.kid}`],
  private_key_submitted: () => ['The key is burnt: make a new pair, and let nothing sign with it.'],
  unexpected_response: (_error, { connection }) => [
    `Is there a Pubring at ${connection.url}? It came from ${connection.urlSource}.`,
  ],
  route_not_found: (_error, { connection }) => [
    `Is the path in ${connection.url} right? It came from ${connection.urlSource}.`,
  ],
  timeout: () => ['--timeout 60s gives it more time.'],
}

function unreachableHints(error: PubringError, { connection, terminal }: FailedCall): string[] {
  const { url, urlSource } = connection
  const from = `The address came from ${urlSource}.`
  const code = causeOf(error)
  if (/_SSL_/.test(code)) return ['Try http:// in place of https://.', from]
  if (isCertificateFault(code)) {
    return [
      'Where an authority of your own has signed it: NODE_EXTRA_CA_CERTS=authority.pem, or NODE_USE_SYSTEM_CA=1 for those that this machine trusts.',
      from,
    ]
  }
  const { HTTPS_PROXY, https_proxy: secure = HTTPS_PROXY } = terminal.env
  const { HTTP_PROXY, http_proxy: plain = HTTP_PROXY } = terminal.env
  const proxy = url.startsWith('https:') ? secure : plain
  if (proxy !== undefined)
    return ['A proxy is set; NO_PROXY names hosts to reach without it.', from]
  if (code === 'ECONNREFUSED') {
    return [
      'Start one with pubring serve, or say where it is: --url, PUBRING_URL or a profile.',
      from,
    ]
  }
  return [from]
}

/** The project that was perhaps meant, of those that the API key may see. */
async function nearProjects({ client, connection: { project } }: FailedCall): Promise<string[]> {
  try {
    const { items } = await client.projects.list({ limit: 200 })
    const near = nearest(
      project,
      items.map(({ name }) => name),
    )
    return near === undefined ? [] : [`Did you mean ${near}?`]
  } catch (error) {
    if (error instanceof PubringError) return []
    throw error
  }
}
