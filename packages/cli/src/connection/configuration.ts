import { chmodSync, existsSync, realpathSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import process from 'node:process'
import type { Environment } from '@pubring/server/config/setting'
import { didYouMean } from '@pubring/server/nearest'
import { makePrivateFolder, readBounded, readOr } from '@pubring/server/runtime/files'
import { isObject, parseJson } from '@pubring/server/runtime/json'
import { fileError, requireKnown, usageError } from '../terminal/failures.ts'
import { quoteForShell } from '../terminal/terminal.ts'

/** The settings for one server, under a name that the user chooses. */
export interface Profile {
  url?: string
  project?: string
  /** The secret itself; then only the owner may read the configuration file. */
  apiKey?: string
  /** After a sign-in in the browser: what the API key is renewed with while the session lives. */
  renewalSecret?: string
  /** When the API key is to be renewed, by the clock of this machine; ISO 8601. */
  renewTime?: string
}

export interface Configuration {
  path: string
  profiles: Readonly<Record<string, Profile>>
}

const members = ['url', 'project', 'apiKey', 'renewalSecret', 'renewTime'] as const

/** `$XDG_CONFIG_HOME/pubring/config.json`; the default of the variable is `~/.config`. */
function configurationPath(env: Environment): string {
  const { XDG_CONFIG_HOME: configHome = '', HOME: home = homeFolder() } = env
  // Relative paths are ignored, as the XDG Base Directory Specification requires.
  const folder = configHome.startsWith('/') ? configHome : join(home, '.config')
  return join(folder, 'pubring', 'config.json')
}

/** `/` for a user without an entry in the database of users, as in containers and under systemd's DynamicUser. */
function homeFolder(): string {
  try {
    return homedir()
  } catch {
    return '/'
  }
}

/**
 * Reads the configuration file; a missing file is an empty configuration. Throws if it
 * is invalid, or if other users can read a secret in it.
 */
export function readConfiguration(env: Environment): Configuration {
  const path = configurationPath(env)
  if (!existsSync(path)) return { path, profiles: {} }
  const content = parse(path)
  const profiles = Object.entries(requireObject(content.profiles ?? {}, path, 'profiles')).map(
    ([name, profile]) => [name, readProfile(profile, path, name)] as const,
  )
  if (profiles.some(([, { apiKey }]) => apiKey !== undefined)) requirePrivate(path)
  return { path, profiles: Object.fromEntries(profiles) }
}

function parse(path: string): Record<string, unknown> {
  const toError = (reason: string) => fileError(`${path} ${reason}.`)
  const value = parseJson(readOr(toError, () => readBounded(path)).toString('utf8'))
  if (value !== undefined) return requireObject(value, path, 'the file')
  throw fileError(`${path} is not valid JSON.`, 'Correct it, or delete it and log in again.')
}

function requireObject(value: unknown, path: string, what: string): Record<string, unknown> {
  if (isObject(value)) return { ...value }
  throw fileError(`${path}: ${what} must be an object.`)
}

function readProfile(value: unknown, path: string, name: string): Profile {
  const profile = requireObject(value, path, `profile ${name}`)
  requireKnown(Object.keys(profile), members, `${path}: profile ${name} has an unknown member`)
  for (const [member, text] of Object.entries(profile)) {
    if (typeof text !== 'string' || text === '') {
      throw fileError(`${path}: ${member} of profile ${name} must be a non-empty string.`)
    }
  }
  return profile
}

function requirePrivate(path: string): void {
  if (process.platform === 'win32' || (statSync(path).mode & 0o077) === 0) return
  throw fileError(
    `${path} holds an API key, but other users can read it.`,
    `chmod 600 ${quoteForShell(path)}`,
  )
}

/** Replaces the file; only its owner can read it. */
export function writeConfiguration({ path, ...content }: Configuration): void {
  makePrivateFolder(dirname(path))
  // Keeps a symbolic link, such as one into a folder of dot files.
  const target = existsSync(path) ? realpathSync(path) : path
  const partial = `${target}.${process.pid}`
  writeFileSync(partial, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 })
  chmodSync(partial, 0o600)
  renameSync(partial, target)
}

export function profileIfThere({ profiles }: Configuration, name: string): Profile | undefined {
  return Object.hasOwn(profiles, name) ? profiles[name] : undefined
}

/** The profile with the name. Throws a usage error that suggests a similar one. */
export function profileNamed(configuration: Configuration, name: string): Profile {
  const profile = profileIfThere(configuration, name)
  if (profile !== undefined) return profile
  const { path, profiles } = configuration
  throw usageError(
    `There is no profile ${name} in ${path}${didYouMean(name, Object.keys(profiles))}`,
    `To create it: pubring login --profile ${quoteForShell(name)} --url URL`,
  )
}
