import { afterEach, expect, test } from 'vitest'
import {
  createFairQueue,
  type FairQueue,
  type IntakeCaller,
} from '../../../packages/server/src/intake/fair-queue.ts'
import {
  createBulkIntake,
  createIntakePool,
  type IntakePool,
} from '../../../packages/server/src/intake/pool.ts'
import {
  findSharedPrimes,
  type IntakeTask,
  type PrimesTask,
} from '../../../packages/server/src/intake/tasks.ts'
import { examine, fixture } from '../../support/keys/intake.ts'
import { ecKey, rsaKey } from '../../support/keys/pem.ts'
import { modulusOf } from '../../support/keys/weak-keys.ts'

let pool: IntakePool | undefined
afterEach(async () => {
  await pool?.close()
  pool = undefined
})

const rsa = fixture('keys/good/rsa2048.pem')
const caller = { callerId: 'a' }

test('the verdicts of many keys are those of each key, in their order', async () => {
  pool = createIntakePool({ threads: 1 })
  const texts = [
    ...Array.from({ length: 20 }, () => ecKey().publicKeyPem),
    rsa,
    fixture('keys/rsa/bits-1024.pem'),
    fixture('keys/private/pkcs8-ed25519.pem'),
    'hello',
    fixture('keys/good/ml-dsa-87.pem'),
  ]
  const verdicts = await pool.for(caller).bulk.examineAll(texts.map((text) => ({ text })))
  expect(verdicts).toEqual(texts.map((text) => examine(text)))
})

test('a single key waits for one batch, not for the whole import', async () => {
  pool = createIntakePool({ threads: 1 })
  await pool.warmUp()
  const order: string[] = []
  const many = pool.for(caller).bulk.examineAll(Array.from({ length: 60 }, () => ({ text: rsa })))
  const all = many.then(() => order.push('import'))
  const single = pool
    .for(caller)
    .examine(rsa)
    .then(() => order.push('single'))
  await Promise.all([all, single])
  expect(order).toEqual(['single', 'import'])
})

/** A runner without threads, which examines every batch as one key. */
function stubRunner(queue: FairQueue, order: string[], onExamine?: () => void) {
  return {
    examine: (_tasks: IntakeTask[], importer: IntakeCaller) =>
      queue.run(importer, 'slice', async () => {
        order.push(importer.callerId)
        onExamine?.()
        return { result: [examine(ecKey().publicKeyPem)], cpuMs: 1 }
      }),
    sharedPrimes: async (task: PrimesTask) => findSharedPrimes(task),
  }
}

const threeKeys = Array.from({ length: 3 }, () => ({ text: 'x'.repeat(500) }))

test('the imports of two API keys take turns', async () => {
  const order: string[] = []
  const bulkFor = createBulkIntake(stubRunner(createFairQueue(1, 8), order), 1)
  await Promise.all(['a', 'b'].map((callerId) => bulkFor({ callerId }).examineAll(threeKeys)))
  expect(order).toEqual(['a', 'b', 'a', 'b', 'a', 'b'])
})

test('an import of a caller that leaves stops at the next batch', async () => {
  const order: string[] = []
  const leaving = new AbortController()
  const runner = stubRunner(createFairQueue(1, 8), order, () => leaving.abort())
  const bulk = createBulkIntake(runner, 1)({ callerId: 'a', signal: leaving.signal })
  await expect(bulk.examineAll(threeKeys)).rejects.toMatchObject({ code: 'invalid_request' })
  expect(order).toEqual(['a'])
})

test('shared primes are found in batches', async () => {
  pool = createIntakePool({ threads: 1 })
  const files = ['shared-prime-a', 'shared-prime-b'].map((name) => fixture(`keys/rsa/${name}.pem`))
  const pems = [files[0], rsa, rsaKey().publicKeyPem, files[1], rsa]
  const moduli = pems.map((pem = '') =>
    Buffer.from(modulusOf(pem).toString(16), 'hex').toString('base64url'),
  )
  expect(await pool.for(caller).bulk.findSharedPrimes(moduli, 2)).toEqual([undefined, 0, undefined])
  expect(await pool.for(caller).bulk.findSharedPrimes(moduli, moduli.length)).toEqual([])
})

test('a text over the length limit is rejected, alone and in an import', async () => {
  pool = createIntakePool({ threads: 1 })
  const text = `${rsa}${' '.repeat(16_384)}`
  const rejection = { ok: false, faults: [{ code: 'key_too_large' }] }
  expect(await pool.for(caller).examine(text)).toMatchObject(rejection)
  expect(await pool.for(caller).bulk.examineAll([{ text }, { text: rsa }])).toMatchObject([
    rejection,
    { ok: true },
  ])
})
