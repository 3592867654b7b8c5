import { extname } from 'node:path'

/**
 * URL of a module in the folder of its importer (`import.meta.url`), with the same extension: `.ts`
 * in a checkout, `.js` in the package.
 */
export function siblingModule(importerUrl: string, name: string): URL {
  return new URL(`./${name}${extname(importerUrl)}`, importerUrl)
}
