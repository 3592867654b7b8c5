import { clientSettings } from '@pubring/server/config/client-settings'
import { rejectUnknownVariables } from '@pubring/server/config/server-settings'
import {
  type Environment,
  parseSetting,
  readSetting,
  type Setting,
} from '@pubring/server/config/setting'
import { isApiKeySecret } from '@pubring/server/kernel/access/secrets'
import { isObject, parseJson } from '@pubring/server/runtime/json'
import { present } from '@pubring/server/runtime/present'
import { decodeToken } from '@pubring/server/tokens/decode'
import { CommandError } from '../terminal/failures.ts'
import { readNamedFile } from '../terminal/files.ts'
import { profileIfThere, profileNamed, readConfiguration } from './configuration.ts'
import { fetchRemote } from './remote.ts'

/** The options of every command that calls a server. */
export interface ConnectionFlags {
  url?: string
  apiKeyFile?: string
  profile?: string
  timeout?: string
  project?: string
}

/** A server, a project and an API key, each with its source for messages. */
export interface Connection {
  url: string
  urlSource: string
  apiKey?: string
  /** Without an API key: what to exchange for one. */
  idToken?: IdToken
  apiKeySource?: string
  /** Id of the access rule for the exchange, if one is named. */
  accessRule?: string
  /** The profile whose API key it is, if that is renewed. */
  renewedProfile?: string
  project: string
  projectSource: string
  timeoutMs: number
  /** As typed, so that errors can name them and hints repeat them. */
  flags?: ConnectionFlags
}

type Name = keyof typeof clientSettings
type Texts = Readonly<Partial<Record<Name, string | undefined>>>

/** The text of a setting and, for messages, where it comes from; undefined if it is not there. */
type Source = (name: Name) => { text: string; source: string } | undefined

/**
 * Resolves the settings of a command that calls a server: options, the profile of `--profile`, the
 * environment, the profile of `PUBRING_PROFILE` or `default`, defaults; and without an API key in any of them, a token of the
 * platform. Throws a usage error if they are invalid.
 */
export function resolveConnection(given: Environment, flags: ConnectionFlags): Connection {
  const { env, server, profile, profileName, sources } = resolveServer(given, flags, profileNamed)
  // A profile's API key is only for the server of that profile.
  const isOther =
    profile.url !== undefined && parseSetting(clientSettings.url, profile.url, 'url') !== server.url
  const accessRule = readSetting(clientSettings.accessRule, env, undefined)
  const found = findApiKey(isOther ? sources.withoutProfile : sources.all)
  const idToken = found ? undefined : findIdToken(env, server.url.replace(/\/v1$/, ''))
  const isRenewed = profile.renewalSecret !== undefined && found?.apiKey === profile.apiKey
  return {
    ...server,
    ...(found ?? (idToken && { idToken, apiKeySource: idToken.source })),
    ...(isRenewed ? { renewedProfile: profileName } : {}),
    ...present({ accessRule }),
  }
}

/**
 * The server and project of a command, and where its settings come from. `named` is the profile of
 * `--profile` or `PUBRING_PROFILE`; none unless it exists.
 */
export function resolveServer(
  given: Environment,
  flags: ConnectionFlags,
  named: typeof profileIfThere = profileIfThere,
) {
  rejectUnknownVariables(given)
  const env = withoutEmpty(given)
  const configuration = readConfiguration(env)
  const profileName = profileIn(env, flags.profile)
  const isNamed = flags.profile !== undefined || env[clientSettings.profile.env] !== undefined
  const profile = (isNamed ? named : profileIfThere)(configuration, profileName) ?? {}
  const fromFlags = sourceOf(flags, (name) => `${clientSettings[name].flag}`)
  const fromVariables = sourceOf(variablesOf(env), (name) => clientSettings[name].env)
  const fromProfile = sourceOf(profile, (name) => `${name} of profile ${profileName}`)
  const all =
    flags.profile === undefined
      ? [fromFlags, fromVariables, fromProfile]
      : [fromFlags, fromProfile, fromVariables]
  const url = resolveSetting('url', clientSettings.url, all)
  const project = resolveSetting('project', clientSettings.project, all)
  const server = {
    flags,
    url: url.value,
    urlSource: url.source,
    project: project.value,
    projectSource: project.source,
    timeoutMs: resolveSetting('timeout', clientSettings.timeout, all).value * 1_000,
  }
  const sources = { all, withoutProfile: [fromFlags, fromVariables] }
  return { env, server, profile, profileName, sources }
}

/** The name of the profile to use; `default` need not exist. */
export function profileIn(env: Environment, flag: string | undefined): string {
  return String(readSetting(clientSettings.profile, withoutEmpty(env), flag))
}

/** An empty variable counts as unset, as `PUBRING_URL=` in a shell is meant. */
function withoutEmpty(env: Environment): Environment {
  return Object.fromEntries(Object.entries(env).filter(([, text]) => text !== ''))
}

function sourceOf(texts: Texts, describe: (name: Name) => string): Source {
  return (name) => {
    const text = texts[name]
    return text === undefined ? undefined : { text, source: describe(name) }
  }
}

function variablesOf(env: Environment): Texts {
  const entries = Object.entries(clientSettings).map(([name, setting]) => [name, env[setting.env]])
  return Object.fromEntries(entries)
}

/** The source of a setting that is set nowhere. */
export const defaultSource = 'the default'

function resolveSetting<Value>(name: Name, setting: Setting<Value>, sources: readonly Source[]) {
  const preset = { text: setting.default ?? '', source: defaultSource }
  const found = sources.values().map((from) => from(name))
  const { text, source } = found.find((each) => each !== undefined) ?? preset
  return { value: parseSetting(setting, text, source), source }
}

function findApiKey(sources: readonly Source[]) {
  const all = sources.values().map((from) => from('apiKey') ?? readFile(from('apiKeyFile')))
  const found = all.find((each) => each !== undefined)
  if (found === undefined) return undefined
  return { apiKey: parseApiKey(found.text, found.source), apiKeySource: found.source }
}

function readFile(named: ReturnType<Source>): ReturnType<Source> {
  if (named === undefined) return undefined
  const { text: path, source } = named
  return { text: readNamedFile(path, source), source: `${path} (${source})` }
}

/** Why a text is no API key, by the first test that it passes. */
const reasons: readonly [matches: (text: string) => boolean, reason: string][] = [
  [(text) => text === '', 'is empty'],
  [(text) => text.includes('\0'), 'is in UTF-16: save it as UTF-8'],
  [
    (text) => /(?:.pubring_[0-9A-Za-z]{49}|pubring_[0-9A-Za-z]{49}.)/s.test(text),
    'has other text around it, such as quotes or the name of a variable: remove that',
  ],
  [
    (text) => /[^\x21-\x7e]/.test(text),
    'contains white space or a character that is not ASCII, such as a curly quote',
  ],
]

/**
 * The API key in the text, without the white space and byte order mark that editors and `echo` add.
 * Throws if it is malformed, with a message that does not quote it.
 */
export function parseApiKey(text: string, source: string): string {
  const trimmed = text.trim()
  if (isApiKeySecret(trimmed)) return trimmed
  const reason = reasons.find(([matches]) => matches(trimmed))?.[1] ?? 'is incomplete or mistyped'
  throw new CommandError('unauthorized', `${source} does not hold an API key: it ${reason}.`, {
    code: 'invalid_api_key_text',
    hints: ['An API key is pubring_ followed by 49 letters and digits. Nothing was sent.'],
  })
}

/** Whether only this machine is reached, so that plain http reveals nothing to others. */
export function isLoopback({ hostname }: URL): boolean {
  return /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname)
}

/** The token that a platform gives this workload, to exchange for an API key. */
export interface IdToken {
  /** Where it is, for messages: `the token in PUBRING_ID_TOKEN`. */
  source: string
  /** The present token: platforms replace it before it expires. Throws if there is none. */
  read(): Promise<string>
  /** The claims of the last one that was read. */
  claims: Readonly<Record<string, unknown>>
}

/**
 * The token of this workload, from the first place that has one, or undefined. `audience` is for
 * platforms that are asked for a token.
 */
export function findIdToken(env: Environment, audience: string): IdToken | undefined {
  const path = readSetting(clientSettings.tokenFile, env, undefined)
  if (path !== undefined) {
    const { env: name } = clientSettings.tokenFile
    return idTokenFrom(`the token in ${path} (${name})`, () => readNamedFile(path, name))
  }
  const token = readSetting(clientSettings.idToken, env, undefined)
  if (token !== undefined) {
    return idTokenFrom(`the token in ${clientSettings.idToken.env}`, () => token)
  }
  // Only jobs of GitHub Actions with the permission `id-token: write` have both.
  const { ACTIONS_ID_TOKEN_REQUEST_URL: address = '', ACTIONS_ID_TOKEN_REQUEST_TOKEN: secret } = env
  const url = URL.parse(address)
  if (url === null || !secret) return undefined
  url.searchParams.set('audience', audience)
  return idTokenFrom('the token of GitHub Actions', () => askGitHub(url, secret))
}

function idTokenFrom(source: string, text: () => string | Promise<string>): IdToken {
  const idToken: IdToken = {
    source,
    claims: {},
    async read() {
      const decoded = decodeToken(await text())
      if ('fault' in decoded) throw unusable(source, decoded.fault)
      idToken.claims = decoded.claims
      return decoded.text
    },
  }
  return idToken
}

/** https://docs.github.com/actions/reference/openid-connect-reference */
async function askGitHub(url: URL, secret: string): Promise<string> {
  const headers = { accept: 'application/json', authorization: `Bearer ${secret}` }
  const response = await fetchRemote(url, { what: 'a token', headers, timeoutMs: 10_000 })
  const document = parseJson(response.toString())
  return isObject(document) ? String(document.value) : ''
}

function unusable(source: string, reason: string): CommandError {
  return new CommandError('unauthorized', `Pubring cannot use ${source}: ${reason}`, {
    code: 'token_unavailable',
    hints: ['Nothing was sent. It must be the JWT of your platform, not an API key.'],
  })
}
