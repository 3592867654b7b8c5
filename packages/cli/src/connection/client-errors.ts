import { PubringError } from '@pubring/client'
import { isoTime } from '@pubring/server/kernel/values/times'
import { present } from '@pubring/server/runtime/present'
import { type ExitKind, kindOfStatus } from '../terminal/exit-codes.ts'
import { CommandError } from '../terminal/failures.ts'
import { type Terminal, toFlag } from '../terminal/terminal.ts'
import type { Connection, IdToken } from './connection.ts'
import { isPlainHttp, isTlsCode, systemCode, tlsProblem } from './remote.ts'

interface FailedCall extends Connection {
  terminal: Terminal
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
  key_active: () => 'The key is active: verifiers may still need it.',
  key_expired: (_call, { message }) => message.replace(/(?<=\.) To activate it.*/, ''),
}

/** Options that are not named like the member of the API that they set. */
const optionNames: Readonly<Record<string, string>> = { expireTime: 'expires' }

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
  return hints.filter((hint) => hint !== undefined)
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
  invalid_api_key: () =>
    'pubring login stores another one; on the database’s machine, pubring api-key create --admin creates one.',
  token_refused: ({ idToken }) =>
    `The token says ${describeToken(idToken)}. An admin can see why it is refused: pubring access-rule check RULE < TOKEN. If several rules accept it, name one in PUBRING_ACCESS_RULE.`,
  invalid_session: () => 'pubring login signs in again.',
  recent_sign_in_required: () => 'pubring login --recent signs in again.',
  insufficient_role: ({ apiKeySource }) =>
    `The API key came from ${apiKeySource}; pubring whoami tells its roles.`,
  insufficient_lifetime: ({ apiKeySource }) =>
    `The API key came from ${apiKeySource}; pubring whoami tells when it expires. --expires limits a new one.`,
  project_not_found: ({ projectSource }) =>
    `The project came from ${projectSource}; pubring project list shows those that your API key can access.`,
  key_not_found: () => 'pubring key list shows the keys of the project.',
  api_key_not_found: () => 'pubring api-key list shows the API keys.',
  key_expired: () =>
    'To activate it again, give it a new expiry: pubring key activate KEY --expires 90d, or --expires never.',
  key_active: () => 'First run pubring key deactivate; or replace it with pubring key rotate.',
  project_not_empty: ({ project }) =>
    `Delete its keys first: pubring key list --project ${project}`,
  duplicate_key: (_call, { problem }) => problem?.kid && `pubring key show ${problem.kid}`,
  private_key_submitted: () =>
    'Treat the key as compromised: generate a new pair and stop signing with it.',
  unexpected_response: ({ url, urlSource }) =>
    `Is there a Pubring at ${url}? It came from ${urlSource}.`,
  route_not_found: ({ url, urlSource }) =>
    `Is the path in ${url} right? It came from ${urlSource}.`,
  timeout: () => '--timeout 60s allows more time.',
}

/** What decides whether an access rule accepts the token. */
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
  return 'Start one with pubring serve, or set --url, PUBRING_URL or a profile.'
}
