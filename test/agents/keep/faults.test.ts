import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { type IncomingHttpHeaders, request as send } from 'node:http'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { lockFolder } from '../../../packages/agents/src/lock.ts'
import { listen } from '../../cli/support.ts'
import { startApp } from '../../support/app/app.ts'
import { ageKey } from '../../support/app/keepers.ts'
import { waitUntil } from '../../support/waiting.ts'
import { currentJwk, expectDone, expectWhole, startKeepers, stateOf } from './support.ts'

const { keeper, keysOf, proxy, server, shell, url } = await startKeepers()

/** A proxy that changes the headers of public documents, and answers some requests itself. */
async function startFront(
  change: () => IncomingHttpHeaders,
  answers: (path: string) => boolean = () => false,
): Promise<{ PUBRING_URL: string }> {
  const front = await listen((request, response) => {
    const { method, headers, url: path = '' } = request
    if (answers(path)) {
      response.setHeader('content-type', 'application/json').end('{"expireTime":"never"}')
      return
    }
    const forwarded = send(url + path, { method, headers }, (answer) => {
      const changed = path.includes('/.well-known/') ? change() : {}
      response.writeHead(answer.statusCode ?? 0, { ...answer.headers, ...changed })
      answer.pipe(response)
    })
    request.pipe(forwarded)
  })
  onTestFinished(() => front.close())
  return { PUBRING_URL: front.url }
}

/** Runs a keeper until the text was said. */
async function until(text: string, run: (call: object) => Promise<unknown>) {
  const controller = new AbortController()
  let said = ''
  await run({
    signal: controller.signal,
    onStderr(all: string) {
      said = all
      if (all.includes(text)) controller.abort()
    },
  })
  return said
}

/** Runs a keeper until the test ends. */
function start(run: (call: object) => Promise<unknown>) {
  const controller = new AbortController()
  const running = { said: '', ready: () => fetch(`${addressOf(running.said)}/health/ready`) }
  const ended = run({
    signal: controller.signal,
    onStderr: (text: string) => (running.said = text),
  })
  onTestFinished(async () => {
    controller.abort()
    await ended
  })
  return running
}

const addressOf = (said: string) => /are at (http\S+)\./.exec(said)?.[1] ?? ''
const listening = ['--every', '1h', '--listen', '127.0.0.1:0']

test('an old copy of the key set does not bring the end of the old key nearer', async () => {
  const { project, dir, keep, first } = await keeper()
  expectDone(await keep(undefined, first))
  ageKey(dir)
  const stale = () => ({ date: new Date(Date.now() - 60_000).toUTCString(), age: '60' })
  const began = Date.now()
  expectDone(await keep(undefined, await startFront(stale)))
  const [old] = await keysOf(project)
  expect(Date.parse(old.expireTime) - began).toBeGreaterThanOrEqual(60_000)
})

test('an end that the answer does not state is asked for again', async () => {
  const { project, dir, keep, first } = await keeper()
  expectDone(await keep(undefined, first))
  const one = expectWhole(dir)
  ageKey(dir)
  const front = await startFront(
    () => ({}),
    (path) => path.endsWith('/end'),
  )
  const { code, stderr } = await keep(undefined, front)
  expect([code, stderr]).toEqual([70, expect.stringContaining(`that the old key ${one} ends`)])
  expect(stateOf(dir)).toHaveProperty('old.kid', one)
  expectDone(await keep())
  expect((await keysOf(project))[0]).toHaveProperty('expireTime')
})

test('a folder that cannot be locked is not kept', async () => {
  const { dir, keep } = await keeper()
  mkdirSync(join(dir, '.lock'), { recursive: true })
  const controller = new AbortController()
  const onStderr = (text: string) => text.includes('Trying again') && controller.abort()
  expect(await keep(listening, {}, { signal: controller.signal, onStderr })).toMatchObject({
    code: 70,
    stderr: expect.stringContaining(`${dir} cannot be locked`),
  })
})

test('an API key replaces a key that is not active, whether or not the next one is registered', async () => {
  const { project, dir, keep, first } = await keeper('registrar')
  expectDone(await keep(undefined, first))
  const replace = async () => {
    const kid = expectWhole(dir)
    await server.send('PATCH', `${project.keys}/${kid}`, { body: { active: false } })
    const refused = await keep()
    expect([refused.code, refused.stderr]).toEqual([
      4,
      expect.stringContaining('Set PUBRING_API_KEY once'),
    ])
    expectDone(await keep(undefined, first))
    expect(expectWhole(dir)).not.toBe(kid)
  }
  await replace()
  ageKey(dir)
  await until('is registered', (call) => keep(undefined, first, call))
  await replace()
})

test('a clock that was set shortens no overlap, and --once does what is due after it', async () => {
  const { project, dir, keep, first } = await keeper()
  expectDone(await keep(undefined, first))
  const one = currentJwk(dir)
  ageKey(dir)
  expectDone(await keep())
  await server.send('PATCH', `${project.keys}/${one.kid}`, { body: { expireTime: null } })
  ageKey(dir, { old: one, ended: undefined })
  const began = Date.now()
  expectDone(await keep())
  const [old, ...others] = await keysOf(project)
  expect(Date.parse(old.expireTime) - began).toBeGreaterThanOrEqual(60_000)
  expect(others).toHaveLength(2)
})

test('a keeper that waits for another is ready once there is a key', async () => {
  const { dir, keep } = await keeper()
  const { signal } = new AbortController()
  const unlock = await lockFolder(dir, { signal, report() {} })
  onTestFinished(unlock)
  const waiting = start((call) => keep(listening, {}, call))
  await waitUntil(() => waiting.said.includes('Another process keeps'))
  expect((await waiting.ready()).status).toBe(503)
  writeFileSync(join(dir, 'current.jwk'), '')
  expect((await waiting.ready()).status).toBe(200)
})

test('health knows the end of a new key, and of one whose step fails', async () => {
  const { project, dir, keep, first } = await keeper()
  const expireTime = new Date(Date.now() + 23 * 3_600_000).toISOString()
  const failing = [...listening, '--exec', 'exit 3']
  let isSet = false
  const { id } = project
  const run = start((call) =>
    keep(failing, first, {
      ...call,
      onStderr(text: string) {
        run.said = text
        const [, kid] = /The key (\S+) is registered/.exec(text) ?? []
        if (kid === undefined || isSet) return
        isSet = true
        void server.send('PATCH', `/v1/projects/${id}/jwt-keys/${kid}`, { body: { expireTime } })
      },
    }),
  )
  await waitUntil(() => run.said.includes('Trying again'))
  expect(run.said).toContain(`Danger: the current key ${currentJwk(dir).kid} ends at ${expireTime}`)
})

test('a keeper that starts while Pubring is away is ready, and restores what was removed', async () => {
  const { dir, keep, first } = await keeper()
  expectDone(await keep(undefined, first))
  const kid = expectWhole(dir)
  for (const name of ['current.jwk', 'current', kid]) rmSync(join(dir, name), { recursive: true })
  proxy.cut()
  onTestFinished(proxy.restore)
  const run = start((call) => keep(listening, {}, call))
  await waitUntil(() => run.said.includes('Trying again'))
  expect(run.said).toContain('The current key goes on.')
  expect((await run.ready()).status).toBe(200)
  expect(expectWhole(dir)).toBe(kid)
})

test('a key that the signer did not get makes nothing ready', async () => {
  const { dir, keep, first } = await keeper()
  const run = start((call) =>
    keep(listening, first, {
      ...call,
      onStderr(text: string) {
        run.said = text
        const [, kid] = /The key (\S+) is registered/.exec(text) ?? []
        // A file in the place of the pair's folder.
        if (kid !== undefined) writeFileSync(join(dir, kid), '')
      },
    }),
  )
  await waitUntil(() => run.said.includes('Trying again'))
  expect(stateOf(dir)).toHaveProperty('current.kid')
  expect((await run.ready()).status).toBe(503)
})

test('a key that is deactivated before it signs is given up for the old one', async () => {
  const { project, dir, keep, first } = await keeper()
  expectDone(await keep(undefined, first))
  const one = expectWhole(dir)
  ageKey(dir)
  await keep(['--every', '1h', '--once', '--exec', 'exit 3'])
  const { kid: two } = currentJwk(dir)
  expect(two).not.toBe(one)
  await server.send('PATCH', `${project.keys}/${two}`, { body: { active: false } })
  expect(expectDone(await keep())).toContain(`the signer goes on with ${one}`)
  expect(expectWhole(dir)).toBe(one)
  expect(existsSync(join(dir, two))).toBe(false)
  const [old] = await keysOf(project)
  expect(old).not.toHaveProperty('expireTime')
  ageKey(dir)
  expectDone(await keep())
  expect([one, two]).not.toContain(expectWhole(dir))
})

test('the end of a key is read while its step fails', async () => {
  const { project, dir, keep, first } = await keeper()
  await keep(['--every', '1h', '--once', '--exec', 'exit 3'], first)
  const { kid } = currentJwk(dir)
  const expireTime = new Date(Date.now() + 23 * 3_600_000).toISOString()
  await server.send('PATCH', `${project.keys}/${kid}`, { body: { expireTime } })
  const run = start((call) => keep([...listening, '--exec', 'exit 3'], {}, call))
  await waitUntil(() => run.said.includes('Trying again'))
  expect((await run.ready()).status).toBe(503)
})

test('a key of others that is not active is an error, tried less and less often', async () => {
  const { project, dir, keep, first } = await keeper()
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const body = {
    name: 'off',
    algorithm: 'ES256',
    publicKeyPem: String(publicKey.export({ type: 'spki', format: 'pem' })),
    active: false,
  }
  expect((await server.send('POST', project.keys, { body })).statusCode).toBe(201)
  const file = shell.file('off.key', String(privateKey.export({ type: 'pkcs8', format: 'pem' })))
  const said = await until('in 2 s', (call) => keep(['--from', file], first, call))
  expect(said).toContain('is registered, but not active')
  expect(stateOf(dir)).not.toHaveProperty('next')
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  shell.file('off.key', String(pair.privateKey.export({ type: 'pkcs8', format: 'pem' })))
  expectDone(await keep(['--from', file, '--once'], first))
  expect(createPublicKey(createPrivateKey(readFileSync(file))).equals(pair.publicKey)).toBe(true)
  expectWhole(dir)
})

test('a key of others that signs no tokens is an error', async () => {
  const { keep, first } = await keeper()
  const { privateKey } = generateKeyPairSync('x25519')
  const file = shell.file('x.key', String(privateKey.export({ type: 'pkcs8', format: 'pem' })))
  const ran = await keep(['--from', file, '--once'], first)
  expect([ran.code, ran.stderr]).toEqual([70, expect.stringContaining('cannot sign tokens')])
})

test('an API key that is refused is named, and not the key that signs', async () => {
  const { keep } = await keeper()
  const other = await startApp()
  const { code, stderr } = await keep(undefined, { PUBRING_API_KEY: other.admin })
  expect([code, stderr]).toEqual([4, expect.stringContaining('It came from PUBRING_API_KEY.')])
})

test('a key of others cannot come from standard input, which ends', async () => {
  const { keep } = await keeper()
  const ran = await keep(['--from', '-', '--once'])
  expect([ran.code, ran.stderr]).toEqual([64, expect.stringContaining('--from must be a file')])
})

test('a max-age that is raised later than the first look ends no keeper', async () => {
  const { dir, keep, first } = await keeper()
  let headers = {}
  const front = await startFront(() => headers)
  const onStderr = (text: string) => {
    if (text.includes('is registered')) headers = { 'cache-control': 'max-age=7200' }
  }
  const said = expectDone(await keep(undefined, { ...first, ...front }, { onStderr }))
  expect(said).toContain('--every must be at least 7261s')
  expectWhole(dir)
})

test('files of others are left alone, and a state that cannot be read is an error', async () => {
  const { dir, keep, first } = await keeper()
  expectDone(await keep(undefined, first))
  symlinkSync('/nowhere', join(dir, 'link'))
  writeFileSync(join(dir, 'notes.txt'), '')
  mkdirSync(join(dir, 'empty'))
  expectDone(await keep())
  rmSync(join(dir, 'keeper.json'))
  const stateless = expect.stringMatching(/keeper\.json .* is missing .*PUBRING_API_KEY/)
  expect(await keep()).toMatchObject({ code: 70, stderr: stateless })
  mkdirSync(join(dir, 'keeper.json'))
  const unusable = `The folder ${dir} cannot be used (EISDIR`
  expect(await keep()).toMatchObject({ code: 70, stderr: expect.stringContaining(unusable) })
})
