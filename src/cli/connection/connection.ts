import { dirname, resolve } from 'node:path'
import { clientSettings } from '../../config/client-settings.ts'
import { rejectUnknownVariables } from '../../config/server-settings.ts'
import { type Environment, parseSetting, readSetting, type Setting } from '../../config/setting.ts'
import { isApiKeySecret } from '../../core/api-keys/secrets.ts'
import { readBounded, readOr } from '../../runtime/files.ts'
import { CommandError, usageError } from '../terminal/failures.ts'
import { type Profile, profileNamed, readConfiguration } from './configuration.ts'

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
  /** The secret. */
  apiKey?: string
  apiKeySource?: string
  project: string
  projectSource: string
  timeoutMs: number
}

interface SourcedValue {
  value: string
  source: string
}

/** Where settings come from. */
interface Sources {
  flags: ConnectionFlags
  env: Environment
  profile: Profile
  profileName: string
  /** Base of relative paths in the profile. */
  folder: string
  /** Whether `--profile` selects the profile, which then takes precedence over the environment. */
  isProfileFlag: boolean
}

/**
 * Resolves the settings of a command that calls a server: options, the profile of `--profile`, the
 * environment, the current profile, defaults. Throws a usage error if they are invalid.
 */
export function resolveConnection(env: Environment, flags: ConnectionFlags): Connection {
  rejectUnknownVariables(env)
  const sources = readSources(env, flags)
  const url = resolveSetting(clientSettings.url, 'url', sources)
  const project = resolveSetting(clientSettings.project, 'project', sources)
  const timeout = resolveSetting(clientSettings.timeout, 'timeout', sources)
  return {
    url: String(url.value),
    urlSource: url.source,
    ...resolveApiKey(sources, String(url.value)),
    project: String(project.value),
    projectSource: project.source,
    timeoutMs: Number(timeout.value) * 1_000,
  }
}

function readSources(env: Environment, flags: ConnectionFlags): Sources {
  const configuration = readConfiguration(env)
  const name =
    readSetting(clientSettings.profile, env, flags.profile) ?? configuration.currentProfile
  return {
    flags,
    env,
    profile: name === undefined ? {} : profileNamed(configuration, name),
    profileName: name ?? '',
    folder: dirname(configuration.path),
    isProfileFlag: flags.profile !== undefined,
  }
}

function resolveSetting<Value>(
  setting: Setting<Value>,
  name: 'url' | 'project' | 'timeout',
  { flags, env, profile, profileName, isProfileFlag }: Sources,
): { value: Value; source: string } {
  const flag = sourced(flags[name], `${setting.flag}`)
  const variable = sourced(env[setting.env], setting.env)
  const fromProfile = sourced(
    name === 'timeout' ? undefined : profile[name],
    `${name} of profile ${profileName}`,
  )
  const rest = isProfileFlag ? (fromProfile ?? variable) : (variable ?? fromProfile)
  const { value, source } = flag ?? rest ?? { value: setting.default ?? '', source: 'the default' }
  return { value: parseSetting(setting, value, source), source }
}

function sourced(value: string | undefined, source: string): SourcedValue | undefined {
  return value === undefined ? undefined : { value, source }
}

/** The API key; a profile's is only for the server of that profile. */
function resolveApiKey(sources: Sources, url: string): Pick<Connection, 'apiKey' | 'apiKeySource'> {
  const { flags, env, profile, profileName, folder, isProfileFlag } = sources
  const { apiKey, apiKeyFile } = clientSettings
  const fromVariable = () =>
    sourced(env[apiKey.env], apiKey.env) ?? fromFile(env[apiKeyFile.env], apiKeyFile.env)
  const fromProfile = () => {
    if (profile.url !== undefined && parseSetting(clientSettings.url, profile.url, 'url') !== url) {
      return undefined
    }
    const source = `profile ${profileName}`
    const path = profile.apiKeyFile
    const file = path === undefined ? undefined : resolve(folder, path)
    return sourced(profile.apiKey, source) ?? fromFile(file, source)
  }
  const found =
    fromFile(flags.apiKeyFile, `${apiKeyFile.flag}`) ??
    (isProfileFlag ? (fromProfile() ?? fromVariable()) : (fromVariable() ?? fromProfile()))
  if (found === undefined) return {}
  return { apiKey: parseApiKey(found.value, found.source), apiKeySource: found.source }
}

function fromFile(path: string | undefined, source: string): SourcedValue | undefined {
  if (path === undefined) return undefined
  const toError = (reason: string) => usageError(`The file ${path} named by ${source} ${reason}.`)
  const content = readOr(toError, () => readBounded(path))
  return { value: content.toString('utf8'), source: `${path} (${source})` }
}

/**
 * The API key in the text, without the white space and byte order mark that editors and `echo` add.
 * Throws if it is malformed, with a message that does not quote it.
 */
export function parseApiKey(text: string, source: string): string {
  const trimmed = text.trim()
  if (isApiKeySecret(trimmed)) return trimmed
  const reason =
    trimmed === ''
      ? 'is empty'
      : /[^\x21-\x7e]/.test(trimmed)
        ? 'contains white space or a character that is not ASCII, such as a curly quote'
        : 'may be incomplete'
  throw new CommandError('unauthorized', `${source} does not hold an API key: it ${reason}.`, {
    code: 'invalid_api_key_text',
    hints: ['An API key is pubring_ followed by 49 letters and digits. Nothing was sent.'],
  })
}

/** Whether only this machine is reached, so that plain http reveals nothing to others. */
export function isLoopback({ hostname }: URL): boolean {
  return /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname)
}
