import { readFileSync } from 'node:fs'

/** The version of this package, in a checkout and as published. */
export function readVersion(): string {
  const manifest: unknown = JSON.parse(
    readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
  )
  return String(Object(manifest).version)
}
