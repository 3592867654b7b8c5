import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { expect, test } from 'vitest'
import { currentJwk, expectDone, expectWhole, startKeepers } from './support.ts'

const { keeper, keysOf, server, shell } = await startKeepers()

const newPem = () =>
  String(
    generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
      type: 'pkcs8',
      format: 'pem',
    }),
  )

test('the maker goes back to the key before, which is taken only without its end', async () => {
  const { project, dir, keep, first } = await keeper()
  const [one, two] = [newPem(), newPem()]
  const turn = (pem: string) => keep(['--from', shell.file('made.key', pem), '--once'], first)
  expectDone(await turn(one))
  const kid = expectWhole(dir)
  expectDone(await turn(two))
  const other = expectWhole(dir)
  expect(other).not.toBe(kid)
  // Tokens that it would sign now would outlive it.
  const refused = await turn(one)
  expect([refused.code, refused.stderr]).toEqual([70, expect.stringContaining(`${kid} ends at `)])
  expect(expectWhole(dir)).toBe(other)
  const [, printed = ''] = /run: pubring (.*)/.exec(refused.stderr) ?? []
  expect(printed).toBe(`key expire ${kid} never --project ${project.id}`)
  expectDone(await shell.pubring(printed.split(' '), { env: first }))
  expectDone(await turn(one))
  expect(currentJwk(dir).kid).toBe(kid)
  expect(expectWhole(dir)).toBe(kid)
})

test('a key that the server refuses does not stop the one that the maker puts in its place', async () => {
  const { project, keep, first } = await keeper('registrar')
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 1_024 })
  const short = String(privateKey.export({ type: 'pkcs8', format: 'pem' }))
  const turn = (pem: string) => keep(['--from', shell.file('made.key', pem), '--once'], first)
  const refused = await turn(short)
  expect([refused.code, refused.stderr]).not.toEqual([0, expect.anything()])
  // Whoever has no key yet needs no access rule for the next one.
  expect(refused.stderr).not.toContain('--self-rotation')
  expectDone(await turn(newPem()))
  expect(await keysOf(project)).toHaveLength(1)
})

test('a key that others have registered needs no right to register keys', async () => {
  const { project, dir, keep } = await keeper()
  const pem = newPem()
  const publicKeyPem = String(createPublicKey(pem).export({ type: 'spki', format: 'pem' }))
  const body = { name: 'made', algorithm: 'ES256', publicKeyPem }
  const made = await server.send('POST', project.keys, { body })
  expect(made.statusCode, made.body).toBe(201)
  const reader = { PUBRING_API_KEY: await server.apiKey('reader', project.id) }
  expectDone(await keep(['--from', shell.file('made.key', pem), '--once'], reader))
  expect(await keysOf(project)).toMatchObject([{ id: expectWhole(dir) }])
})

test('a key that is registered for another algorithm is taken once --algorithm names that', async () => {
  const { project, dir, keep, first } = await keeper()
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
  const [publicKeyPem, pem] = [
    publicKey.export({ type: 'spki', format: 'pem' }),
    String(privateKey.export({ type: 'pkcs8', format: 'pem' })),
  ]
  const body = { name: 'made', algorithm: 'PS256', publicKeyPem }
  expect((await server.send('POST', project.keys, { body })).statusCode).toBe(201)
  const flags = ['--from', shell.file('made.key', pem), '--once']
  const refused = await keep(flags, first)
  const advice = 'for PS256 instead of RS256. To use it, add --algorithm PS256.'
  expect(refused).toMatchObject({ code: 70, stderr: expect.stringContaining(advice) })
  expectDone(await keep([...flags, '--algorithm', 'PS256'], first))
  expect(currentJwk(dir)).toMatchObject({ alg: 'PS256', kid: expectWhole(dir) })
})

test('a key of others that was deactivated is an error until they make another', async () => {
  const { project, dir, keep, first } = await keeper()
  const turn = (pem: string) => keep(['--from', shell.file('made.key', pem), '--once'], first)
  const pem = newPem()
  expectDone(await turn(pem))
  const kid = expectWhole(dir)
  await server.send('PATCH', `${project.keys}/${kid}`, { body: { active: false } })
  const stderr = expect.stringContaining(`The current key ${kid} is not active`)
  expect(await turn(pem)).toMatchObject({ code: 70, stderr })
  expectDone(await turn(newPem()))
  expect(expectWhole(dir)).not.toBe(kid)
})
