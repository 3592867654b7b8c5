import { execFileSync } from 'node:child_process'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setImmediate } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import { createBlocklist } from '../../../packages/intake/src/blocklists/blocklist.ts'
import { examineKey } from '../../../packages/intake/src/examine.ts'
import { createIntakePool, type IntakePool } from '../../../packages/server/src/intake/pool.ts'
import { accepted, examine, fixture } from '../../support/keys/intake.ts'
import { waitLimitMs } from '../../support/waiting.ts'

const caller = { callerId: 'a' }
const dying = new URL('../../support/keys/dying-worker.ts', import.meta.url)
const rsa = fixture('keys/good/rsa2048.pem')
const long = (what: string) => `${what} ${'x'.repeat(500)}`

let pool: IntakePool | undefined
afterEach(async () => {
  await pool?.close()
  pool = undefined
})

describe('the pool returns the verdict of examineKey', () => {
  test.each([
    'keys/good/rsa2048.pem',
    'keys/good/ec-p256.pem',
    'keys/good/ed25519.pem',
    'keys/good/ml-dsa-87.pem',
    'keys/rsa/fermat-5000.pem',
    'keys/private/pkcs8-ed25519.pem',
    'keys/private/pkcs1-rsa.pem',
    'keys/pem/two-public-keys.pem',
    'keys/pem/der-binary.der',
    'keys/ec/p256-private-key-1.pem',
  ])('%s', async (file) => {
    pool = createIntakePool({ threads: 1 })
    const text = fixture(file)
    for (const algorithm of [undefined, 'ES384'] as const) {
      const expected = examineKey(text, algorithm, createBlocklist())
      expect(await pool.for(caller).examine(text, algorithm)).toEqual(expected)
    }
  })

  test('the block list of the operator applies in the workers and on the event loop', async () => {
    const files = ['keys/good/rsa2048.pem', 'keys/good/ec-p256.pem']
    const records = files
      .map((file) => {
        const verdict = examine(fixture(file))
        if (!verdict.ok) throw new Error('rejected')
        return `${verdict.key.materialSha256.slice(0, 30)}01`
      })
      .sort()
    pool = createIntakePool({ threads: 1, blocklist: Buffer.from(records.join(''), 'hex') })
    for (const file of files) {
      const verdict = await pool.for(caller).examine(fixture(file))
      expect(verdict.ok ? 'ok' : verdict.faults[0].code).toBe('key_known_compromised')
    }
    expect(await pool.for(caller).examine(fixture('keys/good/ec-p384.pem'))).toMatchObject({
      ok: true,
    })
  })
})

test('another block list applies to the next keys, and the one being examined is completed', async () => {
  pool = createIntakePool({ threads: 1 })
  const examined = pool
  const running = pool.for(caller).examine(rsa)
  await setImmediate()
  const waiting = Array.from({ length: 3 }, () => examined.for(caller).examine(rsa))
  const { materialSha256 } = accepted(rsa).key
  pool.replaceBlocklist(Buffer.from(`${materialSha256.slice(0, 30)}01`, 'hex'))
  expect(() => examined.replaceBlocklist(Buffer.from('odd'))).toThrow(/has 3 bytes/)
  for (const verdict of await Promise.all(waiting)) expect(verdict).toMatchObject({ ok: false })
  expect(await running).toMatchObject({ ok: true })
})

describe('under load', () => {
  test('RSA keys do not block the event loop', async () => {
    pool = createIntakePool({ threads: 1 })
    await pool.warmUp()
    const delay = monitorEventLoopDelay({ resolution: 1 })
    delay.enable()
    const examined = pool
    await Promise.all(Array.from({ length: 20 }, () => examined.for(caller).examine(rsa)))
    delay.disable()
    expect(delay.percentile(90) / 1e6).toBeLessThan(20)
  })

  test('too many keys of one caller are rejected at once, and the others complete', async () => {
    pool = createIntakePool({ threads: 1, maxQueue: 4, worker: dying })
    await pool.warmUp()
    const examined = pool
    const results = await Promise.allSettled(
      Array.from({ length: 8 }, () => examined.for(caller).examine(long('wait'))),
    )
    const rejections = results.filter(({ status }) => status === 'rejected')
    // One runs, and half of the queue waits.
    expect(results.length - rejections.length).toBe(3)
    for (const rejection of rejections) {
      expect(rejection).toMatchObject({
        reason: { code: 'rate_limited', extras: { retryAfter: 1 } },
      })
    }
  })
})

describe('when a worker dies', () => {
  test.each(['die', 'fill'])('by %s: its key fails, the next one is examined', async (how) => {
    pool = createIntakePool({ threads: 1, worker: dying })
    await expect(pool.for(caller).examine(long(how))).rejects.toMatchObject({ code: 'overloaded' })
    expect(await pool.for(caller).examine(long('answer'))).toMatchObject({ ok: false })
  })

  test('an intake failure is an Error that does not quote the text', async () => {
    pool = createIntakePool({ threads: 1, worker: dying })
    const error: unknown = await pool
      .for(caller)
      .examine(long('fail'))
      .catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(Error)
    expect(String(error)).not.toContain('xxxx')
    expect(error).not.toHaveProperty('code')
  })
})

test('a closed pool rejects keys', async () => {
  pool = createIntakePool({ threads: 1 })
  await pool.close()
  await expect(pool.for(caller).examine(rsa)).rejects.toMatchObject({ code: 'overloaded' })
})

test.each(['await pool.close()', ''])('the process exits by itself: %j', (last) => {
  const script = `
    import { createIntakePool } from './packages/server/src/intake/pool.ts'
    const pool = createIntakePool({ threads: 1 })
    const verdict = await pool.for({ callerId: 'a' }).examine(${JSON.stringify(rsa)})
    ${last}
    console.log(verdict.ok)`
  const output = execFileSync(process.execPath, ['--input-type=module', '-e', script], {
    timeout: waitLimitMs,
  })
  expect(output.toString().trim()).toBe('true')
})
