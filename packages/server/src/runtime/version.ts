import { readFileSync } from 'node:fs'

/** The package.json of this package, in a checkout and as published. */
export function readManifest(): { version: string; description: string } {
  return JSON.parse(readFileSync(new URL('../../../../package.json', import.meta.url), 'utf8'))
}

/** The version of this package. */
export function readVersion(): string {
  return readManifest().version
}
