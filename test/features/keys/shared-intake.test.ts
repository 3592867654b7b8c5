import { afterEach, describe, expect, test } from 'vitest'
import { createIntakePool, type IntakePool } from '../../../packages/server/src/intake/pool.ts'
import type { Context } from '../../../packages/server/src/kernel/context.ts'
import { startApp, type TestApp } from '../../support/app/app.ts'
import { newProject } from '../../support/app/keys.ts'
import { fixture } from '../../support/keys/intake.ts'
import { ecKey } from '../../support/keys/pem.ts'

const countingWorker = new URL('../../support/keys/dying-worker.ts', import.meta.url)

let app: TestApp
let address: string
let pool: IntakePool
/** Keys that requests submitted, whether examined or not. */
let submitted = 0
afterEach(async () => {
  await pool.close()
})

/** The application with one intake thread. */
async function start(options: { maxQueue: number; worker?: URL }): Promise<void> {
  pool = createIntakePool({ threads: 1, ...options })
  await pool.warmUp()
  submitted = 0
  const intakeFor: Context['intakeFor'] = (caller) => {
    submitted += 1
    return pool.for(caller)
  }
  app = await startApp({ intakeFor })
  address = await app.listen()
}

interface Call {
  apiKey: string
  path?: string
  body: object
  signal?: AbortSignal
}

function post({ apiKey, path = '/v1/key-checks', body, signal }: Call): Promise<Response> {
  return fetch(`${address}${path}`, {
    method: 'POST',
    headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    ...(signal && { signal }),
  })
}

describe('while one API key floods key checks', () => {
  const check = { publicKeyPem: fixture('keys/good/rsa4096.pem') }
  const key = { algorithm: 'RSA', publicKeyPem: fixture('keys/good/rsa2048.pem') }

  test('all registrations of another succeed, and the flooder gets 429 with Retry-After', async () => {
    await start({ maxQueue: 16 })
    const projects = await Promise.all(
      [1, 2, 3, 4, 5, 6, 7, 8].map((n) => newProject(app, `p${n}`)),
    )
    const flooder = await app.apiKey('reader')
    const writer = await app.apiKey('writer')
    const flood = Array.from({ length: 60 }, () => post({ apiKey: flooder, body: check }))
    await expect.poll(() => submitted).toBeGreaterThan(40)
    // Neither needs the thread.
    const cheap = { apiKey: flooder, body: { publicKeyPem: ecKey().publicKeyPem } }
    expect((await post(cheap)).status).toBe(200)
    expect((await fetch(`${address}/health/ready`)).status).toBe(200)
    const registered = await Promise.all(
      projects.map(({ keys, name }) =>
        post({ apiKey: writer, path: keys, body: { ...key, name } }),
      ),
    )
    expect(registered.map(({ status }) => status)).toEqual(new Array(8).fill(201))
    const answers = await Promise.all(flood)
    const limited = answers.filter(({ status }) => status === 429)
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 429]))
    expect(limited[0]?.headers.get('retry-after')).toMatch(/^[1-9]\d?$/)
    expect(await limited[0]?.json()).toMatchObject({ code: 'rate_limited', status: 429 })
  })
})

test('the work of a caller that leaves is dropped while it waits', async () => {
  await start({ maxQueue: 100, worker: countingWorker })
  const slow = { publicKeyPem: `wait ${'x'.repeat(500)}` }
  const apiKey = await app.apiKey('reader')
  const leaving = new AbortController()
  const { signal } = leaving
  const calls = Array.from({ length: 10 }, () => post({ apiKey, body: slow, signal }))
  await expect.poll(() => submitted).toBe(10)
  leaving.abort()
  const settled = await Promise.allSettled(calls)
  expect(settled.every(({ status }) => status === 'rejected')).toBe(true)
  const answer = await post({ apiKey, body: slow })
  const { faults } = (await answer.json()) as { faults: { detail: string }[] }
  // Texts that the thread was given before this one, apart from the warm-up.
  expect(Number(faults[0]?.detail.split(' ')[1]) - 2).toBeLessThanOrEqual(2)
})
