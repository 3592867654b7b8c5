import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto'
import { existsSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { ageKey } from '../../support/app/keepers.ts'
import { startIssuer } from '../../support/network/issuer.ts'
import { waitUntil } from '../../support/waiting.ts'
import { currentJwk, expectDone, expectWhole, startKeepers, stateOf } from './support.ts'

const { keeper, keysOf, proxy, server, shell } = await startKeepers()

test('turn after turn, without an API key from the second on', async () => {
  const { project, dir, keep, first } = await keeper()
  expectDone(await keep(undefined, first))
  const one = expectWhole(dir)
  expect(await keysOf(project)).toMatchObject([{ id: one, algorithm: 'ES256', active: true }])
  expect(expectDone(await keep())).not.toContain('registered')

  ageKey(dir)
  const hook = `echo "$KEY_KID $KEY_DIR" > ${join(shell.folder, 'hooked')}`
  const began = Date.now()
  expectDone(await keep(['--every', '1h', '--once', '--exec', hook]))
  const two = expectWhole(dir)
  expect(two).not.toBe(one)
  expect(readFileSync(join(shell.folder, 'hooked'), 'utf8')).toBe(`${two} ${dir}\n`)
  const [old, current] = await keysOf(project)
  expect(current).toMatchObject({ id: two, active: true })
  expect(current).not.toHaveProperty('expireTime')
  // A minute for the last token, and two seconds for the clocks.
  expect(old).toMatchObject({ id: one, active: true })
  expect(Date.parse(old.expireTime) - began).toBeGreaterThanOrEqual(62_000)
  expect(Date.parse(old.expireTime) - Date.now()).toBeLessThanOrEqual(62_500)
  expect(existsSync(join(dir, one, 'private.pem'))).toBe(true)

  ageKey(dir)
  expectDone(await keep())
  const three = expectWhole(dir)
  expect(existsSync(join(dir, one))).toBe(false)
  expect(existsSync(join(dir, two))).toBe(true)
  const actors = (
    await server.send('GET', `/v1/projects/${project.id}/events?type=key.updated`)
  ).json()
  expect(actors).toMatchObject(
    [one, two].map((jwtKeyId) => ({
      actor: { jwtKeyId },
      changes: { reason: { to: 'superseded' } },
    })),
  )
  expect((await keysOf(project)).map(({ id }: { id: string }) => id)).toEqual([one, two, three])
})

test.each(['RS256', 'EdDSA', 'ML-DSA-44'])(
  '%s, and the next key is as the one before',
  async (alg) => {
    const { project, dir, keep, first } = await keeper()
    expectDone(await keep(['--every', '1h', '--once', '--algorithm', alg], first))
    expectWhole(dir)
    ageKey(dir)
    expectDone(await keep())
    expectWhole(dir)
    expect(
      (await keysOf(project)).map(({ algorithm }: { algorithm: string }) => algorithm),
    ).toEqual([alg, alg])
    expect(currentJwk(dir)).toMatchObject({ alg, use: 'sig' })
  },
)

test('an --every that is too short is refused with the smallest, and nothing is made', async () => {
  const { dir, keep, first } = await keeper()
  const { code, stderr } = await keep(['--every', '30s', '--once'], first)
  expect([code, stderr]).toEqual([64, expect.stringContaining('--every must be at least 61s')])
  expect(existsSync(join(dir, 'keeper.json'))).toBe(false)
  const missing = await keep(['--once'], first)
  expect([missing.code, missing.stderr]).toEqual([64, expect.stringContaining('--every')])
})

test('without the right to make the rule, it says who can, and the next turn waits for that', async () => {
  const { project, dir, keep, first } = await keeper('registrar')
  const command = `pubring access-rule create --self-rotation --project ${project.id}`
  expect(expectDone(await keep(undefined, first))).toContain(command)
  const one = expectWhole(dir)
  ageKey(dir)
  const early = await keep()
  expect(early).toMatchObject({ code: 4, stderr: expect.stringContaining('--self-rotation') })
  const admin = { env: { PUBRING_API_KEY: server.admin } }
  expectDone(await shell.pubring(command.split(' ').slice(1), admin))
  expectDone(await keep())
  expect(expectWhole(dir)).not.toBe(one)
})

test('an empty folder without an API key is an error that says so', async () => {
  const { keep } = await keeper()
  expect(await keep()).toMatchObject({ code: 4, stderr: expect.stringContaining('No API key') })
})

test('a key that others make is registered, waited for and taken', async () => {
  const { project, dir, keep, first } = await keeper()
  const make = () => {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
    return shell.file('tls.key', String(privateKey.export({ type: 'pkcs1', format: 'pem' })))
  }
  const flags = ['--from', make(), '--once']
  expectDone(await keep(flags, first))
  const one = expectWhole(dir)
  expectDone(await keep(flags))
  expect(expectWhole(dir)).toBe(one)
  make()
  expectDone(await keep(flags))
  const [old, current] = await keysOf(project)
  expect([old.id, current.id]).toEqual([one, expectWhole(dir)])
  const published = createPublicKey(createPrivateKey(readFileSync(join(shell.folder, 'tls.key'))))
  expect(createPublicKey(current.publicKeyPem).equals(published)).toBe(true)
  expect(old).toHaveProperty('expireTime')
})

test('the token of the workload admits the key, with no API key at all', async () => {
  const { project, dir, keep } = await keeper()
  const issuer = await startIssuer()
  const body = {
    for: 'workloads',
    name: 'orders',
    issuer: issuer.url,
    jwks: issuer.jwks,
    conditions: { sub: 'orders' },
    role: 'registrar',
    project: project.id,
  }
  const rule = await server.send('POST', '/v1/access-rules', { body })
  expect(rule.statusCode, rule.body).toBe(201)
  const env = { PUBRING_ID_TOKEN: issuer.token({ sub: 'orders' }) }
  expectDone(await keep(undefined, env))
  const one = expectWhole(dir)
  ageKey(dir)
  expectDone(await keep(undefined, env))
  expect(expectWhole(dir)).not.toBe(one)
  expect((await keysOf(project))[0]).toHaveProperty('expireTime')

  // Others have its private key: it is replaced as soon as the keeper knows.
  const two = expectWhole(dir)
  const publicKeyPem = readFileSync(join(dir, 'current', 'private.pem'), 'utf8')
  await server.send('POST', '/v1/key-checks', { body: { publicKeyPem } })
  expectDone(await keep(undefined, env))
  expect(expectWhole(dir)).not.toBe(two)
})

test('a step that fails is repeated: the old key goes on until --exec has succeeded', async () => {
  const { project, dir, keep, first } = await keeper()
  expectDone(await keep(undefined, first))
  ageKey(dir)
  const failed = await keep(['--every', '1h', '--once', '--exec', 'exit 3'])
  expect(failed).toMatchObject({ code: 70, stderr: expect.stringContaining('exit code 3') })
  expect((await keysOf(project))[0]).not.toHaveProperty('expireTime')
  expectDone(await keep())
  expect((await keysOf(project))[0]).toHaveProperty('expireTime')
  expect(await keysOf(project)).toHaveLength(2)
})

test('a next key that was deactivated is given up for another', async () => {
  const { project, dir, keep, first } = await keeper()
  expectDone(await keep(undefined, first))
  ageKey(dir)
  const controller = new AbortController()
  await keep(
    ['--every', '1h', '--once'],
    {},
    {
      signal: controller.signal,
      onStderr: (text: string) => text.includes('is registered') && controller.abort(),
    },
  )
  const { kid } = stateOf(dir).next
  await server.send('PATCH', `${project.keys}/${kid}`, { body: { active: false } })
  expect(await keep()).toMatchObject({
    code: 70,
    stderr: expect.stringContaining('before its turn'),
  })
  expectDone(await keep())
  expect((await keysOf(project)).map(({ active }: { active: boolean }) => active)).toEqual([
    true,
    false,
    true,
  ])
})

test('a second process says that the first has the folder, and goes on when that ends', async () => {
  const { keep, dir, first } = await keeper()
  expectDone(await keep(undefined, first))
  const controller = new AbortController()
  const running = keep(
    ['--every', '1h', '--listen', '127.0.0.1:0'],
    {},
    { signal: controller.signal },
  )
  await waitUntil(() => existsSync(join(dir, '.lock-journal')))
  let said = ''
  const second = keep(undefined, {}, { onStderr: (text: string) => (said = text) })
  await waitUntil(() => said.includes(`Another process keeps ${dir}`))
  controller.abort()
  expectDone(await running)
  expectDone(await second)
})

test('a file in the place of the current key is not replaced', async () => {
  const { dir, keep, first } = await keeper()
  expectDone(await keep(undefined, first))
  writeFileSync(join(dir, 'current.jwk'), '{}')
  expect(await keep()).toMatchObject({ code: 70, stderr: expect.stringContaining('Move it') })
  expect(readFileSync(join(dir, 'current.jwk'), 'utf8')).toBe('{}')
})

test('an address that is taken is an error before anything else', async () => {
  const { keep } = await keeper()
  const taken = createServer().listen(0, '127.0.0.1')
  onTestFinished(() => void taken.close())
  await waitUntil(() => taken.listening)
  const { port } = Object(taken.address())
  const ran = await keep(['--every', '1h', '--listen', `127.0.0.1:${port}`])
  expect([ran.code, ran.stderr]).toEqual([64, expect.stringContaining('--listen cannot be used')])
})

test('health: from no key to a key that ends soon, and what is said while Pubring is away', async () => {
  const { project, dir, keep, first } = await keeper()
  const controller = new AbortController()
  let said = ''
  const running = keep(['--every', '1h', '--listen', '127.0.0.1:0'], first, {
    signal: controller.signal,
    onStderr: (text: string) => (said = text),
  })
  onTestFinished(async () => {
    controller.abort()
    await running
  })
  await waitUntil(() => said.includes('signs'))
  const get = async (path: string) => {
    const [, base = ''] = /are at (http\S+)\./.exec(said) ?? []
    const response = await fetch(base + path)
    return { status: response.status, text: await response.text() }
  }
  await waitUntil(async () => (await get('/health/ready')).status === 200)
  const { kid } = currentJwk(dir)
  const age = new RegExp(`pubring_keep_ready 1[^]*key_age_seconds{kid="${kid}"} \\d`)
  await waitUntil(async () => age.test((await get('/metrics')).text))
  const there = [...(await get('/metrics')).text.matchAll(/^# TYPE (\w+)/gm)].map(
    ([, name]) => name,
  )
  const rules = readFileSync('deploy/prometheus-keeper-rules.yaml', 'utf8')
  expect(there).toEqual(expect.arrayContaining(rules.match(/\bpubring_\w+/g) ?? []))
  expect((await get('/other')).status).toBe(404)
  controller.abort()
  await running

  // Its end is known from the start of a process on.
  const soon = new Date(Date.now() + 23 * 3_600_000).toISOString()
  await server.send('PATCH', `${project.keys}/${kid}`, { body: { expireTime: soon } })
  const next = new AbortController()
  said = ''
  const again = keep(
    ['--every', '1h', '--listen', '127.0.0.1:0'],
    {},
    {
      signal: next.signal,
      onStderr(text: string) {
        said = text
        if (text.includes('is registered')) proxy.cut()
      },
    },
  )
  onTestFinished(async () => {
    proxy.restore()
    next.abort()
    await again
  })
  await waitUntil(() => said.includes('Danger: '))
  expect(said).toContain(`the current key ${kid} ends at ${soon}`)
  expect(await get('/health/ready')).toMatchObject({
    status: 503,
    text: expect.stringContaining(soon),
  })
  expect((await get('/metrics')).text).toMatch(/last_error_timestamp_seconds \d/)
  expect(expectWhole(dir)).toBe(kid)
  proxy.restore()
  await waitUntil(() => currentJwk(dir).kid !== kid && readlinkSync(join(dir, 'current')) !== kid)
  await waitUntil(async () => (await get('/health/ready')).status === 200)
})
