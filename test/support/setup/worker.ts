import { createRequire, enableCompileCache, flushCompileCache } from 'node:module'
import process from 'node:process'
import { afterAll } from 'vitest'
import { reusePairs } from '../keys/slow-pairs.ts'
import { forgetSecrets } from '../secrets.ts'

// Node caches what it compiled, for this process and, by the variable, for its threads.
const { directory } = enableCompileCache()
if (directory !== undefined) process.env.NODE_COMPILE_CACHE = directory
// A worker ends without an exit event, at which Node would write the cache.
afterAll(() => flushCompileCache())

reusePairs()
forgetSecrets()
shareSerializers()

type Compile = (input: { schema: object }) => unknown
type BuildSerializer = (sharedSchemas: object, options: object) => Compile

/**
 * Every application compiles the same serializers, which takes most of the time of its start. This
 * makes those of one worker share them, by the text of the schemas.
 */
function shareSerializers(): void {
  const require = createRequire(import.meta.resolve('fastify'))
  const path = require.resolve('@fastify/fast-json-stringify-compiler')
  const original: () => BuildSerializer = require(path)
  const module = require.cache[path]
  if (module === undefined || Object.hasOwn(original, 'isShared')) return
  const serializers = new Map<string, unknown>()
  const selector = (): BuildSerializer => (sharedSchemas, options) => {
    const compile = original()(sharedSchemas, options)
    const prefix = JSON.stringify([sharedSchemas, options])
    return (input) => {
      const key = prefix + JSON.stringify(input.schema)
      const serializer = serializers.get(key) ?? compile(input)
      serializers.set(key, serializer)
      return serializer
    }
  }
  module.exports = Object.assign(selector, { isShared: true })
}
