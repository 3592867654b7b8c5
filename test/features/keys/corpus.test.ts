import { describe, expect, test } from 'vitest'
import { intakeCodes } from '../../../packages/intake/src/codes.ts'
import { slowCodes } from '../../../packages/intake/src/rsa/index.ts'
import { newId } from '../../../packages/server/src/kernel/values/ids.ts'
import { startApp, type TestApp } from '../../support/app/app.ts'
import { fixture } from '../../support/keys/intake.ts'

interface Case {
  file: string
  expect: 'accept' | 'reject'
  code: keyof typeof intakeCodes | 'ok'
  why: string
  alg?: string
  normalised?: boolean
  /** The key that must be stored first; alone this one is fine. */
  after?: string
}

/** The verdict on each file is tested with the intake; here, one file stands for all of its group. */
const manifest: Case[] = JSON.parse(fixture('keys/manifest.json'))
const groupOf = (one: Case) =>
  [one.code, one.after, one.code === 'ok' && `${algorithmOf(one)} ${one.normalised}`].join()
const cases = [...new Map(manifest.map((one) => [groupOf(one), one])).values()]

/** The algorithm that a person would choose who sees the file. */
function algorithmOf({ file, alg }: Case): string {
  const [kind = '', name = ''] = file.split('/')
  if (alg !== undefined) return alg
  const set = /ml-dsa-(44|65|87)/.exec(name)?.[1]
  if (set !== undefined) return `ML-DSA-${set}`
  if (/ed25519/.test(name) || kind === 'okp') return 'Ed25519'
  if (/p384/.test(name)) return 'ES384'
  if (/p521/.test(name)) return 'ES512'
  if (/p256/.test(name) || kind === 'ec') return 'ES256'
  return /pss/.test(name) ? 'PS256' : 'RSA'
}

const app = await startApp()
/** Private keys go to a registry of their own: their public halves are blocked in it from then on. */
const blocking = await startApp()

function appFor({ code }: Case): TestApp {
  return code === 'private_key_submitted' ? blocking : app
}

/** Registers in a project of its own, after what must be there. */
async function register(one: Case) {
  const name = `p-${newId().slice(-12)}`
  const app = appFor(one)
  await app.send('POST', '/v1/projects', { body: { name } })
  const post = (file: string) =>
    app.send('POST', `/v1/projects/${name}/jwt-keys`, {
      body: { name: file, algorithm: algorithmOf(one), publicKeyPem: fixture(`keys/${file}`) },
    })
  if (one.after !== undefined) expect((await post(one.after)).statusCode).toBe(201)
  const created = await post(one.file)
  const listed = await app.send('GET', `/v1/projects/${name}/jwt-keys`)
  return { created, listed: listed.json() }
}

describe.each(cases.filter((one) => one.expect === 'accept'))('$file ($why)', (one) => {
  test('is registered, listed as the check shows it, as one canonical PUBLIC KEY block', async () => {
    const { created, listed } = await register(one)
    expect(created.statusCode, created.body).toBe(201)
    expect(listed).toHaveLength(1)
    expect(listed[0].publicKeyPem).toMatch(
      /^-----BEGIN PUBLIC KEY-----\n([A-Za-z0-9+/]{64}\n)*[A-Za-z0-9+/=]{1,64}\n-----END PUBLIC KEY-----\n$/,
    )
    const publicKeyPem = fixture(`keys/${one.file}`)
    const checked = await app.send('POST', '/v1/key-checks', {
      body: { publicKeyPem, algorithm: algorithmOf(one) },
    })
    expect(checked.json()).toMatchObject({
      accepted: true,
      faults: [],
      publicKeyPem: listed[0].publicKeyPem,
      key: { thumbprint: expect.stringMatching(/^[\w-]{43}$/) },
    })
  })
})

const refusals = cases.filter((one) => one.expect === 'reject')

function problemOf({ code }: Case): string {
  return code === 'ok' ? '' : intakeCodes[code]
}

describe.each(refusals)('$file ($why)', (one) => {
  test(`is refused as ${one.code}, and nothing of it is listed or repeated`, async () => {
    const { created, listed } = await register(one)
    expect(created.statusCode).toBe(400)
    expect(created.json()).toMatchObject({
      code: problemOf(one),
      errors: [{ pointer: '/publicKeyPem', code: one.code }, ...created.json().errors.slice(1)],
    })
    expect(listed).toHaveLength(one.after === undefined ? 0 : 1)
    const longest = longestLine(fixture(`keys/${one.file}`))
    if (longest.length >= 24) expect(created.body).not.toContain(longest.slice(0, 24))
  })
})

/** The check knows no project, so what is refused beside another key alone is fine here. */
describe.each(refusals.filter(({ after }) => after === undefined))('$file ($why)', (one) => {
  test(`is refused as ${one.code} by the check`, async () => {
    const publicKeyPem = fixture(`keys/${one.file}`)
    const checked = await appFor(one).send('POST', '/v1/key-checks', {
      body: { publicKeyPem, algorithm: algorithmOf(one) },
    })
    expect(checked.statusCode).toBe(200)
    const report = checked.json()
    expect(report).toMatchObject({ accepted: false, problem: problemOf(one) })
    expect(report.faults[0].code).toBe(one.code)
  })
})

test('slow rules that were not checked are named by a check, a registration and an import', async () => {
  const body = { algorithm: 'ES256', publicKeyPem: fixture('keys/rsa/fermat-5.pem') }
  const mismatch = { code: 'algorithm_mismatch', skipped: [...slowCodes] }
  const checked = await app.send('POST', '/v1/key-checks', { body })
  expect(checked.json().faults).toMatchObject([mismatch])
  const item = { ...body, name: 'close primes' }
  const created = await app.send('POST', '/v1/projects/payments/jwt-keys', { body: item })
  expect(created.json().errors).toMatchObject([mismatch])
  const imported = await app.send('POST', '/v1/projects/payments/key-imports', {
    body: { keys: [item] },
  })
  expect(imported.json().errors).toMatchObject([{ pointer: '/keys/0/publicKeyPem', ...mismatch }])
})

function longestLine(text: string): string {
  return text
    .split(/[\r\n]+/)
    .filter((line) => !line.includes('-----'))
    .reduce((longest, line) => (line.length > longest.length ? line : longest), '')
}
