import { extname } from 'node:path'

/**
 * Address of the module with that name beside the one that asks (its `import.meta.url`): TypeScript
 * in a checkout, JavaScript in the package.
 */
export function siblingModule(importerUrl: string, name: string): URL {
  return new URL(`./${name}${extname(importerUrl)}`, importerUrl)
}
