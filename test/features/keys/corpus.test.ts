import { describe, expect, test } from 'vitest'
import { intakeCodes } from '../../../packages/intake/src/codes.ts'
import { slowCodes } from '../../../packages/intake/src/rsa/index.ts'
import { startApp, type TestApp } from '../../support/app/app.ts'
import { newProject } from '../../support/app/keys.ts'
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
  one.code === 'ok'
    ? `${algorithmOf(one)} ${one.normalised}`
    : `${intakeCodes[one.code]} ${one.after}`
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

let projects = 0
/** Registers in a project of its own, after what must be there; checks it without that. */
async function submit(one: Case, on: TestApp) {
  projects += 1
  const { keys } = await newProject(on, `p-${projects}`)
  const bodyOf = (file: string) => ({
    algorithm: algorithmOf(one),
    publicKeyPem: fixture(`keys/${file}`),
  })
  const post = (file: string) => on.send('POST', keys, { body: { name: file, ...bodyOf(file) } })
  const kid = one.after === undefined ? undefined : (await post(one.after)).json().kid
  const created = await post(one.file)
  const checked = await on.send('POST', '/v1/key-checks', { body: bodyOf(one.file) })
  const listed = (await on.send('GET', keys)).json()
  return { kid, created, listed, checked: checked.json() }
}

describe.each(cases.filter((one) => one.expect === 'accept'))('$file ($why)', (one) => {
  test('is registered, listed as the check shows it, as one canonical PUBLIC KEY block', async () => {
    const { created, listed, checked } = await submit(one, app)
    expect(created.statusCode, created.body).toBe(201)
    expect(listed).toHaveLength(1)
    const { publicKeyPem } = listed[0]
    expect(publicKeyPem).toMatch(
      /^-----BEGIN PUBLIC KEY-----\n([A-Za-z0-9+/]{64}\n)*[A-Za-z0-9+/=]{1,64}\n-----END PUBLIC KEY-----\n$/,
    )
    const key = { thumbprint: expect.stringMatching(/^[\w-]{43}$/) }
    expect(checked).toMatchObject({ accepted: true, faults: [], publicKeyPem, key })
  })
})

describe.each(cases.filter((one) => one.expect === 'reject'))('$file ($why)', (one) => {
  test(`is refused as ${one.code}, and nothing of it is listed or repeated`, async () => {
    const { code } = one
    if (code === 'ok') throw new Error('a refusal without a code')
    // Private keys go to a registry of their own: their public halves are blocked in it from then on.
    const { created, listed, checked, kid } = await submit(
      one,
      code === 'private_key_submitted' ? await startApp() : app,
    )
    expect(created.statusCode).toBe(400)
    expect(created.json()).toMatchObject({
      code: intakeCodes[code],
      errors: [{ pointer: '/publicKeyPem', code }, ...created.json().errors.slice(1)],
    })
    expect(listed.map(({ id }: { id: string }) => id)).toEqual([kid ?? []].flat())
    const longest = longestLine(fixture(`keys/${one.file}`))
    if (longest.length >= 24) expect(created.body).not.toContain(longest.slice(0, 24))
    if (kid === undefined) {
      expect(checked).toMatchObject({ accepted: false, problem: intakeCodes[code] })
      expect(checked.faults[0].code).toBe(code)
      return
    }
    // The check and another project must not learn of the other key.
    expect(created.json().detail).toContain(kid)
    expect(checked.accepted).toBe(true)
    const { after: _after, ...alone } = one
    expect((await submit(alone, app)).created.statusCode).toBe(201)
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
