/** Variables by name, as `process.env` has them. */
export type Environment = Readonly<Record<string, string | undefined>>

/** One setting: its sources, its parser and its help. */
export interface Setting<Value> {
  env: `PUBRING_${string}`
  /** Absent for secrets: every user of the machine can read command lines. */
  flag?: `--${string}`
  /** As a user would write it. */
  default: string | undefined
  help: string
  /** Throws an Error whose message continues a sentence that begins with the name of the setting. */
  parse(text: string): Value
}

/** An invalid setting; the message is one line for the user. */
export class SettingError extends Error {
  override readonly name = 'SettingError'
}

interface UnnamedSetting<Value> extends Omit<Setting<Value>, 'env' | 'flag'> {
  isSecret: boolean
}

export function setting<Value>(
  parse: (text: string) => Value,
  help: string,
  fallback?: string,
): UnnamedSetting<Value> {
  return { default: fallback, help, parse, isSecret: false }
}

/** A setting without a flag. */
export function environmentOnly<Value>(
  parse: (text: string) => Value,
  help: string,
): UnnamedSetting<Value> {
  return { ...setting(parse, help), isSecret: true }
}

/** Names each setting after its key: `publicUrl` is `PUBRING_PUBLIC_URL` and `--public-url`. */
export function named<Table extends Record<string, UnnamedSetting<unknown>>>(
  table: Table,
): { [Key in keyof Table]: Setting<ReturnType<Table[Key]['parse']>> } {
  const entries = Object.entries(table).map(([key, { isSecret, ...rest }]) => {
    const name = key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
    const env = `PUBRING_${name.toUpperCase().replaceAll('-', '_')}`
    return [key, { env, ...rest, ...(!isSecret && { flag: `--${name}` }) }]
  })
  return Object.fromEntries(entries)
}

/** The value of the flag, else of the variable, else the default. Throws a SettingError. */
export function readSetting<Value>(
  one: Setting<Value>,
  env: Environment,
  flag: string | undefined,
): Value | undefined {
  const [source, text] = flag === undefined ? [one.env, env[one.env]] : [one.flag, flag]
  const value = text ?? one.default
  return value === undefined ? undefined : parseSetting(one, value, source ?? one.env)
}

/** Throws a SettingError that names `source`, the flag or variable that holds the text. */
export function parseSetting<Value>(
  { parse }: Setting<Value>,
  text: string,
  source: string,
): Value {
  try {
    return parse(text)
  } catch (error) {
    throw new SettingError(`${source} ${error instanceof Error ? error.message : error}.`)
  }
}
