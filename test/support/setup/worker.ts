import { enableCompileCache, flushCompileCache } from 'node:module'
import { getPriority } from 'node:os'
import process from 'node:process'
import { setDefaultCACertificates } from 'node:tls'
import { afterAll, afterEach, beforeEach } from 'vitest'
import { beginTest, endFile, endTest } from '../ending.ts'
import { reusePairs } from '../keys/slow-pairs.ts'
import { forgetSecrets } from '../secrets.ts'

// Node caches what it compiled, for this process and, by the variable, for its threads.
const { directory } = enableCompileCache()
if (directory !== undefined) process.env.NODE_COMPILE_CACHE = directory
// A worker ends without an exit event, at which Node would write the cache.
afterAll(() => flushCompileCache())

beforeEach(beginTest)
afterEach(endTest)
afterAll(endFile)

// Tests trust authorities of their own: reading those of the system takes 20 ms for each `fetch`.
setDefaultCACertificates([])

const priority = getPriority()
afterAll(() => {
  // The files that share this worker would wait for all that a busy machine does besides.
  if (getPriority() !== priority) throw new Error('a test has lowered the priority of its worker')
})

reusePairs()
forgetSecrets()
