import {
  chmodSync,
  existsSync,
  readFileSync,
  realpathSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import process from 'node:process'
import type { Environment } from '../../config/setting.ts'
import { didYouMean } from '../../nearest.ts'
import { makePrivateFolder } from '../../storage/sqlite/file.ts'
import { usageError } from '../terminal/failures.ts'

/** How one server is reached, under a name of the user's own. */
export interface Profile {
  url?: string
  project?: string
  /** The secret itself; the file is then for its owner alone. */
  apiKey?: string
  /** A file that holds it; relative to the configuration file. */
  apiKeyFile?: string
}

export interface Configuration {
  path: string
  /** The profile that counts where none is named. */
  currentProfile?: string
  profiles: Readonly<Record<string, Profile>>
}

const members = ['url', 'project', 'apiKey', 'apiKeyFile'] as const

/** `$XDG_CONFIG_HOME/pubring/config.json`, by default below `~/.config`. */
function configurationPath(env: Environment): string {
  const { XDG_CONFIG_HOME: given = '', HOME: home = homedir() } = env
  // What is not absolute is to be ignored (XDG Base Directory Specification).
  const folder = given.startsWith('/') ? given : join(home, '.config')
  return join(folder, 'pubring', 'config.json')
}

/**
 * The configuration file; an empty one where there is none. Throws a usage error where it is not
 * what it should be, or where others can read the secret in it.
 */
export function readConfiguration(env: Environment): Configuration {
  const path = configurationPath(env)
  if (!existsSync(path)) return { path, profiles: {} }
  const content = parse(path)
  const profiles = Object.entries(objectIn(content.profiles ?? {}, path, 'profiles')).map(
    ([name, profile]) => [name, readProfile(profile, path, name)] as const,
  )
  if (profiles.some(([, { apiKey }]) => apiKey !== undefined)) refuseReadable(path)
  const { currentProfile } = content
  return {
    path,
    profiles: Object.fromEntries(profiles),
    ...(typeof currentProfile === 'string' ? { currentProfile } : {}),
  }
}

function parse(path: string): Record<string, unknown> {
  try {
    return objectIn(JSON.parse(readFileSync(path, 'utf8')), path, 'the whole')
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    // What the parser says quotes the text, which may hold a secret.
    throw usageError(`${path} is not valid JSON.`, 'Correct it, or move it away and log in again.')
  }
}

function objectIn(value: unknown, path: string, what: string): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value }
  throw usageError(`${path}: ${what} must be an object.`)
}

function readProfile(value: unknown, path: string, name: string): Profile {
  const given = objectIn(value, path, `profile ${name}`)
  for (const [member, text] of Object.entries(given)) {
    if (!members.some((known) => known === member)) {
      const near = didYouMean(member, members, `, but ${members.join(', ')}.`)
      throw usageError(`${path}: a profile has no member ${member}${near}`)
    }
    if (typeof text !== 'string' || text === '') {
      throw usageError(`${path}: ${member} of profile ${name} must be a text that is not empty.`)
    }
  }
  return given
}

function refuseReadable(path: string): void {
  if (process.platform === 'win32' || (statSync(path).mode & 0o077) === 0) return
  throw usageError(
    `${path} holds an API key and can be read by others than its owner.`,
    `chmod 600 '${path}'`,
  )
}

/** Replaces the file, which is then for its owner alone. */
export function writeConfiguration({ path, ...content }: Configuration): void {
  makePrivateFolder(dirname(path))
  // A link, such as one of a folder of dot files, stays one.
  const target = existsSync(path) ? realpathSync(path) : path
  const partial = `${target}.${process.pid}`
  writeFileSync(partial, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 })
  chmodSync(partial, 0o600)
  renameSync(partial, target)
}

/** The profile with the name. Throws a usage error that names the nearest one. */
export function profileNamed({ path, profiles }: Configuration, name: string): Profile {
  const profile = Object.hasOwn(profiles, name) ? profiles[name] : undefined
  if (profile !== undefined) return profile
  throw usageError(
    `There is no profile ${name} in ${path}${didYouMean(name, Object.keys(profiles))}`,
    `pubring login --profile ${name} makes it.`,
  )
}
