import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { clientSettings } from '../../config/client-settings.ts'
import { rejectUnknownServerVariables } from '../../config/server-settings.ts'
import { type Environment, parseSetting, readSetting, type Setting } from '../../config/setting.ts'
import { isApiKeySecret } from '../../core/api-keys/secrets.ts'
import { CommandError, usageError } from '../terminal/failures.ts'
import { type Profile, profileNamed, readConfiguration } from './configuration.ts'

/** The options of every command that calls a server. */
export interface ConnectionFlags {
  url?: string
  apiKeyFile?: string
  profile?: string
  timeout?: string
  project?: string
  /** Where `project` stands, unless it is the option. */
  projectSource?: string
  json?: true
}

/** Options of a call whose confirmation `--yes` skips. */
export interface ConfirmedFlags extends ConnectionFlags {
  yes?: true
}

/** Where a server is and who calls it, each with where that was said. */
export interface Connection {
  url: string
  urlSource: string
  /** The secret. */
  apiKey?: string
  apiKeySource?: string
  project: string
  projectSource: string
  /** Milliseconds. */
  timeout: number
}

interface Given {
  value: string
  source: string
}

/** The places in which a setting may stand, the one that counts first. */
interface Places {
  flags: ConnectionFlags
  env: Environment
  profile: Profile
  profileName: string
  /** What a file that it names is relative to. */
  folder: string
  /** Whether it was named in this very command: then it goes before the environment. */
  chosen: boolean
}

/**
 * The settings of a command that calls a server: options, then a profile named by `--profile`, then
 * the environment, then the current profile. Throws a usage error where they cannot be used.
 */
export function resolveConnection(env: Environment, flags: ConnectionFlags): Connection {
  rejectUnknownServerVariables(env)
  const places = placesOf(env, flags)
  const url = settle(clientSettings.url, 'url', places)
  const project = settle(clientSettings.project, 'project', places)
  const timeout = settle(clientSettings.timeout, 'timeout', places)
  return {
    url: String(url.value),
    urlSource: url.source,
    ...apiKeyOf(places, String(url.value)),
    project: String(project.value),
    projectSource: project.source,
    timeout: Number(timeout.value) * 1_000,
  }
}

function placesOf(env: Environment, flags: ConnectionFlags): Places {
  const chosen = flags.profile !== undefined
  const file = readConfiguration(env)
  const named = readSetting(clientSettings.profile, env, flags.profile)
  const name = named ?? file.currentProfile
  const profile = name === undefined ? {} : profileNamed(file, name)
  return { flags, env, profile, profileName: name ?? '', folder: dirname(file.path), chosen }
}

function settle<Value>(
  one: Setting<Value>,
  name: 'url' | 'project' | 'timeout',
  { flags, env, profile, profileName, chosen }: Places,
): { value: Value; source: string } {
  const place = name === 'project' ? flags.projectSource : undefined
  const flag = given(flags[name], place ?? `${one.flag}`)
  const variable = given(env[one.env], one.env)
  const ofProfile = given(
    name === 'timeout' ? undefined : profile[name],
    `${name} of profile ${profileName}`,
  )
  const order = chosen ? [flag, ofProfile, variable] : [flag, variable, ofProfile]
  const found = order.find((each) => each !== undefined)
  const { value, source } = found ?? { value: one.default ?? '', source: 'the default' }
  return { value: parseSetting(one, value, source), source }
}

function given(value: string | undefined, source: string): Given | undefined {
  return value === undefined ? undefined : { value, source }
}

/** The API key; that of a profile only for the server of that profile. */
function apiKeyOf(places: Places, url: string): Pick<Connection, 'apiKey' | 'apiKeySource'> {
  const { flags, env, profile, profileName, folder, chosen } = places
  const { apiKey, apiKeyFile } = clientSettings
  const flag = fromFile(flags.apiKeyFile, `${apiKeyFile.flag}`)
  if (flag !== undefined) return checked(flag)
  const ofEnvironment = () =>
    given(env[apiKey.env], apiKey.env) ?? fromFile(env[apiKeyFile.env], apiKeyFile.env)
  const ofProfile = () => {
    if (profile.url !== undefined && parseSetting(clientSettings.url, profile.url, 'url') !== url) {
      return undefined
    }
    const source = `profile ${profileName}`
    const named = profile.apiKeyFile
    const file = named === undefined ? undefined : resolve(folder, named)
    return given(profile.apiKey, source) ?? fromFile(file, source)
  }
  const found = chosen ? (ofProfile() ?? ofEnvironment()) : (ofEnvironment() ?? ofProfile())
  return found === undefined ? {} : checked(found)
}

function fromFile(path: string | undefined, source: string): Given | undefined {
  if (path === undefined) return undefined
  return { value: readApiKeyFile(path, source), source: `${path} (${source})` }
}

function readApiKeyFile(path: string, source: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    const why =
      code === 'ENOENT' ? 'is not there' : code === 'EISDIR' ? 'is a folder' : 'cannot be read'
    throw usageError(`The file ${path} that ${source} names ${why}.`)
  }
}

/** White space and a byte order mark around it come from editors and `echo`. */
function checked({ value, source }: Given): Pick<Connection, 'apiKey' | 'apiKeySource'> {
  return { apiKey: apiKeyIn(value, source), apiKeySource: source }
}

/** The API key in the text. Throws, without the text, where it is none: that is known offline. */
export function apiKeyIn(text: string, source: string): string {
  const trimmed = text.replace(/^[\s\uFEFF]+|[\s\uFEFF]+$/g, '')
  if (isApiKeySecret(trimmed)) return trimmed
  const what =
    trimmed === ''
      ? 'is empty'
      : /[^\x21-\x7e]/.test(trimmed)
        ? 'holds a blank, a line break or a character that is not ASCII, such as a curly quote'
        : 'was perhaps not copied whole'
  throw new CommandError('unauthorized', `What ${source} holds is not an API key: it ${what}.`, {
    code: 'invalid_api_key_text',
    hints: ['An API key is pubring_ and 49 letters and digits, and nothing else. It was not sent.'],
  })
}
