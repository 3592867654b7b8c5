import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)

/** TypeBox's validators, which are loaded with the first request that needs one: 200 modules. */
export function schemaValidators(): typeof import('typebox/schema') {
  return require('typebox/schema')
}
