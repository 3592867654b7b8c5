import { enableCompileCache, flushCompileCache } from 'node:module'
import { afterAll } from 'vitest'

enableCompileCache()
// A worker ends without an exit event, at which Node would write the cache.
afterAll(() => flushCompileCache())
