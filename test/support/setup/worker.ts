import { enableCompileCache, flushCompileCache } from 'node:module'
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
