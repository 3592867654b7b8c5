import { afterEach, expect, test } from 'vitest'
import { createBulkIntake } from '../../../src/intake/threads/bulk.ts'
import { createIntakePool, type IntakePool } from '../../../src/intake/threads/pool.ts'
import { findSharedPrimes, type IntakeTask } from '../../../src/intake/threads/tasks.ts'
import { examine, fixture } from '../../support/keys/intake.ts'
import { ecKey, rsaKey } from '../../support/keys/pem.ts'
import { modulusOf } from '../../support/keys/weak-keys.ts'

let pool: IntakePool | undefined
afterEach(async () => {
  await pool?.close()
  pool = undefined
})

const rsa = fixture('keys/good/rsa2048.pem')

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
  const verdicts = await pool.bulk.examineAll(texts.map((text) => ({ text })))
  expect(verdicts).toEqual(texts.map((text) => examine(text)))
})

test('a single key waits for one batch, not for the whole import', async () => {
  pool = createIntakePool({ threads: 1 })
  await pool.warmUp()
  const order: string[] = []
  const many = pool.bulk.examineAll(Array.from({ length: 60 }, () => ({ text: rsa })))
  const all = many.then(() => order.push('import'))
  const single = pool.examine(rsa).then(() => order.push('single'))
  await Promise.all([all, single])
  expect(order).toEqual(['single', 'import'])
})

test('two imports take turns', async () => {
  const order: string[] = []
  const bulk = createBulkIntake(
    {
      async examine(tasks: IntakeTask[]) {
        order.push(tasks[0]?.algorithm ?? '')
        return [examine(ecKey().publicKeyPem)]
      },
      sharedPrimes: async (task) => findSharedPrimes(task),
    },
    1,
  )
  const long = 'x'.repeat(500)
  const keys = (algorithm: 'ES256' | 'RS256') =>
    Array.from({ length: 3 }, () => ({ text: long, algorithm }))
  await Promise.all([bulk.examineAll(keys('ES256')), bulk.examineAll(keys('RS256'))])
  expect(order).toEqual(['ES256', 'RS256', 'ES256', 'RS256', 'ES256', 'RS256'])
})

test('more than 16 imports at once are rejected', async () => {
  pool = createIntakePool({ threads: 1 })
  const { bulk } = pool
  const answers = await Promise.allSettled(
    Array.from({ length: 20 }, () => bulk.examineAll([{ text: ecKey().publicKeyPem }])),
  )
  const rejected = answers.filter(({ status }) => status === 'rejected')
  expect(rejected).toHaveLength(4)
  expect(rejected[0]).toMatchObject({ reason: { code: 'overloaded' } })
  expect(await bulk.examineAll([{ text: rsa }])).toHaveLength(1)
})

test('shared primes are found in batches', async () => {
  pool = createIntakePool({ threads: 1 })
  const files = ['shared-prime-a', 'shared-prime-b'].map((name) => fixture(`keys/rsa/${name}.pem`))
  const pems = [files[0], rsa, rsaKey().publicKeyPem, files[1], rsa]
  const moduli = pems.map((pem = '') =>
    Buffer.from(modulusOf(pem).toString(16), 'hex').toString('base64url'),
  )
  expect(await pool.bulk.findSharedPrimes(moduli, 2)).toEqual([undefined, 0, undefined])
  expect(await pool.bulk.findSharedPrimes(moduli, moduli.length)).toEqual([])
})

test('a text over the length limit is rejected, alone and in an import', async () => {
  pool = createIntakePool({ threads: 1, maxLength: 1_000 })
  const text = `${rsa}${' '.repeat(1_000)}`
  const rejection = { ok: false, faults: [{ code: 'key_too_large' }] }
  expect(await pool.examine(text)).toMatchObject(rejection)
  expect(await pool.bulk.examineAll([{ text }, { text: rsa }])).toMatchObject([
    rejection,
    { ok: true },
  ])
})
