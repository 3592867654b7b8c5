import { readFileSync } from 'node:fs'

/** The version of the package that this file belongs to, in a checkout and as published. */
export function version(): string {
  const manifest: unknown = JSON.parse(
    readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'),
  )
  return String(Object(manifest).version)
}
