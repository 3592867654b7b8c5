import { PubringError } from '@pubring/client'
import { isoTime } from '@pubring/server/kernel/values/times'
import { present } from '@pubring/server/runtime/present'
import { type ExitKind, kindOfStatus } from '../terminal/exit-codes.ts'
import { CommandError } from '../terminal/failures.ts'
import { type Terminal, toFlag } from '../terminal/terminal.ts'
import { commandLine, projectCommandLine } from './command-lines.ts'
import { type Connection, type IdToken, isLoopback } from './connection.ts'
import { isPlainHttp, isTlsCode, systemCode, tlsProblem } from './remote.ts'

export interface FailedCall extends Connection {
  terminal: Terminal
  /** The key that was being changed. */
  kid?: string
}

/** Turns an error of the client into one of the command, with its exit code and hints. */
export function toCommandError(error: unknown, call: FailedCall): unknown {
  if (!(error instanceof PubringError)) return error
  // Reading the token of the platform failed, with a message of its own.
  if (error.cause instanceof CommandError) return error.cause
  const { code, status, problem, requestId } = error
  return new CommandError(kindOf(error), messageOf(error, call), {
    code,
    hints: hintsFor(error, call),
    problem: problem ?? present({ status, requestId }),
  })
}

const kindsByCode: Readonly<Record<string, ExitKind>> = {
  timeout: 'unavailable',
  aborted: 'interrupted',
  unexpected_response: 'untrusted',
  invalid_url: 'usage',
  invalid_path: 'usage',
  invalid_api_key_text: 'unauthorized',
  token_refused: 'unauthorized',
}

function kindOf(error: PubringError): ExitKind {
  const { code, status = 0 } = error
  if (code !== 'unreachable') return kindsByCode[code] ?? kindOfStatus(status)
  return isTlsCode(systemCode(error)) ? 'untrusted' : 'unavailable'
}

/** The API speaks of requests; these codes need a sentence about the command instead. */
const messages: Readonly<Record<string, (call: Connection, error: PubringError) => string>> = {
  project_not_found: ({ project }) =>
    `There is no project “${project}” that the API key can access.`,
  token_refused: ({ apiKeySource }) =>
    `The server did not exchange ${apiKeySource} for an API key.`,
  project_name_taken: (_call, { message }) =>
    message.replace('the query parameter release=true', '--release-name'),
  key_active: () => 'The key is active: verifiers may still need it.',
  key_expired: (_call, { message }) => message.replace(/(?<=\.) To activate it.*/, ''),
}

/** Options that are not named like the member of the API that they set. */
const optionNames: Readonly<Record<string, string>> = {
  expireTime: 'expires',
  reporter: 'as',
}

/** The message of the server, in which the members that were set by an option have its name. */
function withOptionNames({ message, problem }: PubringError, { flags = {} }: Connection): string {
  let text = message
  for (const { pointer = '', detail } of problem?.errors ?? []) {
    const member = pointer.slice(1)
    const isLabel = member === 'name' && 'label' in flags
    const option = isLabel ? 'label' : (optionNames[member] ?? member)
    if (!(option in flags) || !detail.startsWith(`${member} `)) continue
    text = text.replace(detail, `${toFlag(option)}${detail.slice(member.length)}`)
  }
  return text
}

function messageOf(error: PubringError, call: FailedCall): string {
  if (error.code !== 'unreachable') {
    const code = causeOf(error)
    return messages[code]?.(call, error) ?? withOptionNames(error, call)
  }
  const { url } = call
  const code = systemCode(error)
  if (code === 'ECONNREFUSED') return `No server listens at ${url}.`
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `The host in ${url} cannot be resolved.`
  if (code === 'CERT_HAS_EXPIRED') return `The certificate of ${url} has expired.`
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return `The certificate of ${url} is for another host.`
  }
  return isTlsCode(code) ? tlsProblem(code, url) : error.message
}

function hintsFor(error: PubringError, call: FailedCall): string[] {
  const { code, retryAfter, status } = error
  const hints = [
    status === 401 ? `It came from ${call.apiKeySource}.` : undefined,
    hintsByCode[causeOf(error)]?.(call, error),
    code === 'unreachable' ? `The address came from ${call.urlSource}.` : undefined,
    retryAfter === undefined ? undefined : `Try again in ${retryAfter} s.`,
  ]
  return hints.flatMap((hint) => hint?.split('\n') ?? [])
}

/** The code of the only fault, if there is advice about that, or else of the error. */
function causeOf({ code, problem }: PubringError): string {
  const [fault, ...others] = problem?.errors ?? []
  const isKnown = fault !== undefined && others.length === 0 && fault.code in hintsByCode
  return isKnown ? fault.code : code
}

type Hint = (call: FailedCall, error: PubringError) => string | undefined

const hintsByCode: Readonly<Record<string, Hint>> = {
  unreachable: unreachableHint,
  invalid_api_key(call) {
    const isStored = / of profile /.test(call.apiKeySource ?? '')
    const login = isStored ? `To store another one: ${commandLine(call, 'login')}\n` : ''
    return `${login}To create one, on the machine of the database: pubring api-key create --admin`
  },
  token_refused: ({ idToken }) =>
    `The token says ${describeToken(idToken)}. If several rules accept it, name one in PUBRING_ACCESS_RULE. An admin can see why it is refused: pubring access-rule check RULE < TOKEN`,
  invalid_session: (call) => `To sign in again: ${commandLine(call, 'login')}`,
  recent_sign_in_required: (call) => `To sign in again: ${commandLine(call, 'login', '--recent')}`,
  insufficient_role: (call) =>
    `The API key came from ${call.apiKeySource}. To see its roles: ${commandLine(call, 'whoami')}`,
  insufficient_lifetime: (call) =>
    `The API key came from ${call.apiKeySource}; --expires limits a new one. To see when it expires: ${commandLine(call, 'whoami')}`,
  project_not_found: (call) =>
    `The project came from ${call.projectSource}. To see those that your API key can access: ${commandLine(call, 'project list')}`,
  key_not_found: (call) => `To see the keys: ${projectCommandLine(call, 'key list')}`,
  api_key_not_found: (call) => `To see the API keys: ${commandLine(call, 'api-key list')}`,
  key_expired: (call) =>
    `To activate it again, give it a new expiry, or never: ${keyCommand(call, 'key activate', '--expires', '90d')}`,
  key_active: (call) =>
    `Replace it with pubring key rotate; or deactivate it first: ${keyCommand(call, 'key deactivate')}`,
  project_not_empty: (call) =>
    `Delete its keys first. To see them: ${projectCommandLine(call, 'key list')}`,
  duplicate_key: (call, { problem }) =>
    problem?.kid && `To see it: ${projectCommandLine(call, 'key show', problem.kid)}`,
  private_key_submitted: () =>
    'Treat the key as compromised: generate a new pair and stop signing with it.',
  unexpected_response: ({ url, urlSource }) =>
    `Is there a Pubring at ${url}? It came from ${urlSource}.`,
  route_not_found: ({ url, urlSource }) =>
    `Is the path in ${url} right? It came from ${urlSource}.`,
  timeout: () => '--timeout 60s allows more time.',
}

/** A command for the key that was being changed. */
function keyCommand(call: FailedCall, command: string, ...args: string[]): string {
  return projectCommandLine(call, command, call.kid ?? 'KEY', ...args)
}

/** The claims that decide whether an access rule accepts the token. */
function describeToken({ claims: { iss, sub, aud, exp } = {} }: Partial<IdToken> = {}): string {
  const end = typeof exp === 'number' ? isoTime(exp * 1_000) : exp
  return JSON.stringify({ iss, sub, aud, exp: end })
}

function unreachableHint({ url, terminal }: FailedCall, error: PubringError): string | undefined {
  const code = systemCode(error)
  if (isPlainHttp(code)) return 'Try http:// instead of https://.'
  if (isTlsCode(code)) {
    return 'To trust a private certificate authority, set NODE_EXTRA_CA_CERTS=authority.pem; to trust those of this machine, NODE_USE_SYSTEM_CA=1.'
  }
  const { HTTPS_PROXY, https_proxy: secure = HTTPS_PROXY } = terminal.env
  const { HTTP_PROXY, http_proxy: plain = HTTP_PROXY } = terminal.env
  const proxy = url.startsWith('https:') ? secure : plain
  if (proxy !== undefined) return 'A proxy is set; list hosts that need none in NO_PROXY.'
  if (code !== 'ECONNREFUSED') return undefined
  const { port } = new URL(url)
  const start = `To start one: pubring serve${port === '8080' ? '' : ` --port ${port || 80}`}`
  const others = 'For another server, set --url, PUBRING_URL or a profile.'
  return isLoopback(new URL(url)) ? `${others}\n${start}` : others
}
