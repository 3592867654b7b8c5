import { didYouMean } from '../nearest.ts'

/** Variables by name, as `process.env` has them. */
export type Environment = Readonly<Record<string, string | undefined>>

/** One setting: where it comes from, how it is read, and what its line in `--help` says. */
export interface Setting<Value> {
  env: `PUBRING_${string}`
  /** Absent for secrets: a command line can be read by every user of the machine. */
  flag?: `--${string}`
  /** As text, the way a person would write it; undefined: there is none. */
  default: string | undefined
  help: string
  /** Throws an Error with the end of a sentence that begins with the setting's name. */
  read(text: string): Value
}

/** What a person has set cannot be used; the message is one line for that person. */
export class SettingError extends Error {
  override readonly name = 'SettingError'
}

export function setting<Value>(
  name: string,
  fallback: string | undefined,
  read: (text: string) => Value,
  help: string,
): Setting<Value> {
  const env = `PUBRING_${name.toUpperCase().replaceAll('-', '_')}` as const
  return { env, flag: `--${name}`, default: fallback, help, read }
}

/** The value: of the flag, else of the variable, else the default. Throws a SettingError. */
export function readSetting<Value>(
  one: Setting<Value>,
  env: Environment,
  flag: string | undefined,
): Value | undefined {
  const [source, given] = flag === undefined ? [one.env, env[one.env]] : [one.flag, flag]
  const value = given ?? one.default
  return value === undefined ? undefined : readValue(one, value, source ?? one.env)
}

/** The value in the text, which came from `source`. Throws a SettingError that names the source. */
export function readValue<Value>({ read }: Setting<Value>, text: string, source: string): Value {
  try {
    return read(text)
  } catch (error) {
    throw new SettingError(`${source} ${error instanceof Error ? error.message : error}.`)
  }
}

/** Throws a SettingError where there is a `PUBRING_*` variable that is not among the known ones. */
export function rejectUnknownVariables(env: Environment, known: readonly string[]): void {
  const unknown = Object.keys(env).find(
    (name) => name.startsWith('PUBRING_') && !known.includes(name),
  )
  if (unknown === undefined) return
  throw new SettingError(
    `${unknown} is not a variable that Pubring knows${didYouMean(unknown, known)}`,
  )
}
