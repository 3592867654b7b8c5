import { afterAll, expect, test } from 'vitest'
import { kernelChanges } from '../../../packages/server/src/kernel/kernel-changes.ts'
import { startApp } from '../../support/app/app.ts'
import { fetchJwks, kidsOf, newProject, registerKey } from '../../support/app/keys.ts'
import { recordFault } from '../../support/faults/results.ts'
import { ecKey } from '../../support/keys/pem.ts'
import { signToken } from '../../support/keys/tokens.ts'
import { origin } from '../../support/store/store.ts'

let log = ''
const logStream = {
  write(line: string) {
    log += line
  },
}

const server = await startApp({ http: { metrics: true, logStream } })

afterAll(async () => {
  recordFault({
    fault: 'A stored key changed behind the server’s back',
    observed:
      'the key is listed as inactive, and published as it was registered until a change; the other keys of its project are published',
    acknowledged: 0,
    lost: 0,
  })
})

/** Changes the stored text behind the server's back, and the text after it back. */
async function damage(kid: string, column: string, change: (text: string) => string) {
  const where = `from jwt_key where id = ?`
  const [row] = await server.database.query(`select ${column} as value ${where}`, kid)
  const before = String(row?.value)
  const write = (text: string) =>
    server.database.execute(`update jwt_key set ${column} = ? where id = ?`, text, kid)
  expect(change(before)).not.toBe(before)
  await write(change(before))
  return () => write(before)
}

const flipped = (text: string, index: number) => {
  const code = text.charCodeAt(index) ^ 1
  return text.slice(0, index) + String.fromCharCode(code) + text.slice(index + 1)
}

const damages: [string, string, (text: string) => string][] = [
  [
    'a coordinate',
    'jwk',
    (text) => text.replace(/("x":")(.)/, (_, name, first) => name + (first === 'A' ? 'B' : 'A')),
  ],
  ['an additional member', 'jwk', (text) => text.replace('{', '{"d":"x",')],
  ['JSON that is cut off', 'jwk', (text) => text.slice(0, -1)],
  ['the PEM', 'public_key_pem', (text) => flipped(text, 60)],
  ['the end of the PEM', 'public_key_pem', (text) => text.trimEnd()],
  ['the thumbprint', 'thumbprint', (text) => flipped(text, 0)],
  ['the hash of the key', 'spki_sha256', (text) => flipped(text, 0)],
  ['the algorithm', 'jws_algorithm', () => 'ES384'],
]

test('a changed key is published as it was until a change, logged and counted; the others are', async () => {
  const { keys, jwks } = await newProject(server, 'damaged')
  const key = ecKey()
  const kid = await registerKey(
    server,
    { algorithm: 'ES256', publicKeyPem: key.publicKeyPem },
    keys,
  )
  const registered = JSON.parse((await fetchJwks(server, {}, jwks)).body).keys
  const repair = await damage(kid, 'jwk', (text) => text.slice(0, -1))
  const other = await registerKey(server, {}, keys)
  const { body } = await fetchJwks(server, {}, jwks)
  expect(kidsOf(body)).toEqual([kid, other])
  expect(JSON.parse(body).keys.slice(0, 1)).toEqual(registered)
  const list = await server.send('GET', keys)
  expect(list.json().map(({ id }: { id: string }) => id)).toEqual([kid, other])
  expect(list.json()[0].active).toBe(false)
  const metrics = await server.app.metrics?.metrics()
  expect(metrics).toMatch(/^pubring_contradictions 1$/m)
  const lines = log
    .split('\n')
    .filter((line) => line.includes(kid) && line.includes('contradicted'))
  expect(lines).toHaveLength(1)
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ level: 50, code: 'contradicted' })

  const token = signToken(key.privateKey, { alg: 'ES256', kid })
  const check = await server.send('POST', keys.replace('jwt-keys', 'token-checks'), {
    body: { token },
  })
  expect(check.json()).toMatchObject({ valid: false, reason: 'key_inactive' })

  await server.send('PATCH', `${keys}/${other}`, { body: { label: 'changed' } })
  expect(kidsOf((await fetchJwks(server, {}, jwks)).body)).toEqual([other])
  await repair()
  await server.send('PATCH', `${keys}/${other}`, { body: { label: 'again' } })
  await server.send('GET', keys)
  expect(kidsOf((await fetchJwks(server, {}, jwks)).body)).toEqual([kid, other])
  expect(await server.app.metrics?.metrics()).toMatch(/^pubring_contradictions 0$/m)
})

test.each(damages)(
  'a key with a change of %s is not used even if its ledger accepts the row',
  async (name, column, change) => {
    const { id, keys, jwks } = await newProject(server, name.toLowerCase().replaceAll(' ', '-'))
    const kid = await registerKey(server, {}, keys)
    await damage(kid, column, change)
    const acceptance = { origin: origin(), ledgerId: id }
    await server.context.store.commit(kernelChanges.acceptLedger, acceptance)
    const other = await registerKey(server, {}, keys)
    expect((await server.send('GET', keys)).json()[0]).toMatchObject({ id: kid, active: false })
    expect(kidsOf((await fetchJwks(server, {}, jwks)).body)).toEqual([other])
  },
)
