import { appendFileSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import { newApiKeySecret } from '../../packages/server/src/kernel/access/secrets.ts'
import { ecKey, edKey, privatePem, rsaKey } from '../support/keys/pem.ts'
import { signToken } from '../support/keys/tokens.ts'
import { rawExchange, requestHead } from '../support/network/raw-connection.ts'
import { expectNoSecret, rememberSecret } from '../support/secrets.ts'
import {
  outputsAndDatabases,
  readJson,
  type ServerProcess,
  startServer,
  temporaryFolder,
} from '../support/server/process.ts'
import { waitLimitMs } from '../support/waiting.ts'

const { folder } = temporaryFolder()
const running: ServerProcess[] = []

async function start(level: string) {
  const where = join(folder, level)
  mkdirSync(where)
  const server = await startServer(where, { PUBRING_LOG_LEVEL: level })
  running.push(server)
  return server
}

const keys = '/v1/projects/default/jwt-keys'
const signer = edKey()
const token = signToken(signer.privateKey, { alg: 'EdDSA', kid: 'x' }, { sub: 'someone' })
const privates = [privatePem(rsaKey()), privatePem(ecKey()), privatePem(signer)]
const typo = rememberSecret('an API key', newApiKeySecret())

/** Sends secrets in every part of a request, correctly and wrongly. Returns the raw responses. */
async function exercise(server: ServerProcess & { apiKey: string }): Promise<string[]> {
  const { apiKey } = server
  const responses: string[] = []
  const raw = async (...request: string[]) => {
    responses.push(
      await rawExchange(server.url, requestHead(...request, 'Host: x', 'Connection: close')),
    )
  }
  const get = (path: string, ...headers: string[]) => raw(`GET ${path} HTTP/1.1`, ...headers)
  const post = async (path: string, body: string, headers: Record<string, string> = {}) => {
    const response = await fetch(server.url + path, {
      method: 'POST',
      headers: { 'X-Api-Key': apiKey, 'Content-Type': 'application/json', ...headers },
      body,
    })
    responses.push(`HTTP/1.1 ${response.status} \n${await response.text()}`)
  }
  const { publicKeyPem } = signer
  await post(keys, JSON.stringify({ name: 'n', algorithm: 'EdDSA', publicKeyPem }))
  for (const secret of [apiKey, typo, token, ...privates.map((pem) => encodeURIComponent(pem))]) {
    await get(`${keys}?key=${secret}`, `X-Api-Key: ${apiKey}`)
    await get(`${keys}?${secret}=1`, `X-Api-Key: ${apiKey}`)
    await get(`/v1/projects/${secret}`, `X-Api-Key: ${apiKey}`)
    await get(`${keys}/${secret}`, `X-Api-Key: ${apiKey}`)
    await get(`/${secret}`)
    await get(`/%ff/${secret}`)
    await get(keys, `Authorization: Bearer ${secret}`)
    await get(keys, `User-Agent: ${secret}`, `Cookie: a=${secret}`, `X-Request-Id: ${secret}`)
    await get(keys, `X-Api-Key: ${secret}`, `X-Api-Key: ${apiKey}`)
    await get(keys, `X-Api-Key: ${secret}x`)
    await get(`/v1/events`, `X-Api-Key: ${apiKey}`, `Last-Event-ID: ${secret}`)
    await raw(`${secret} ${keys} HTTP/1.1`)
    await raw(`GET ${keys} HTTP/1.1`, `X-Api-Key: ${secret}\0`)
    await raw(`GET ${keys} HTTP/1.1`, `X-Api-Key: ${secret}`, `Broken ${secret}`)
    await get(keys, `X-Api-Key: ${secret.repeat(2_000)}`)
  }
  for (const secret of [apiKey, token, ...privates]) {
    const text = JSON.stringify(secret)
    await post(keys, `{"name":"n","algorithm":"RSA","publicKeyPem":${text}}`)
    await post(keys, `{"name":"n","algorithm":${text},"publicKeyPem":"x"}`)
    await post(keys, `{"name":"n","algorithm":"RSA","publicKeyPem":${text}`)
    await post(keys, `{${text}:${text}}`)
    await post(keys, secret, { 'Content-Type': secret.split('\n')[0] ?? '' })
    await post(keys, `{"x":${JSON.stringify(secret.repeat(2_000))}}`)
    await post('/v1/projects', `{"name":${text}}`)
    await post('/v1/api-keys', `{"name":"n","role":${text},"project":${text}}`)
    await post('/v1/key-checks', `{"publicKeyPem":${text}}`)
    await post('/v1/projects/default/token-checks', `{"token":${text}}`)
  }
  const members = JSON.stringify({ name: 'n', role: 'reader' })
  const created = await fetch(`${server.url}/v1/api-keys`, {
    method: 'POST',
    headers: { 'X-Api-Key': apiKey, 'Content-Type': 'application/json' },
    body: members,
  })
  const reader = rememberSecret('an API key', (await readJson<{ apiKey: string }>(created)).apiKey)
  await get('/v1/events', `X-Api-Key: ${reader}`)
  await get('/v1/api-keys/self', `X-Api-Key: ${reader}`)
  return responses
}

/** Corrupts a row, so that reading it fails with an internal error. */
async function breakDatabase(server: ServerProcess & { apiKey: string }): Promise<string> {
  const database = new DatabaseSync(join(server.folder, 'data/pubring.db'), {
    timeout: waitLimitMs,
  })
  database.exec("update event set changes = '{' where type = 'key.created'")
  database.close()
  const response = await fetch(`${server.url}/v1/projects/default/events?limit=200`, {
    headers: { 'X-Api-Key': server.apiKey, 'User-Agent': typo },
  })
  return `HTTP/1.1 ${response.status} \n${await response.text()}`
}

describe('no API key, token or private key is left in responses, logs or databases', () => {
  test.each(['trace', 'info', 'fatal'])('at level %s', async (level) => {
    const server = await start(level)
    const responses = [...(await exercise(server)), await breakDatabase(server)]
    server.signal('SIGTERM')
    expect(await server.ended).toBe(0)
    const statuses = new Set(responses.map((response) => Number(response.split(' ')[1])))
    expect([...statuses]).toEqual(
      expect.arrayContaining([200, 201, 400, 401, 403, 404, 413, 415, 431, 500]),
    )
    expectNoSecret({ responses: responses.join('\n'), ...outputsAndDatabases(server.folder) })
    const count = (text: string) => server.output().split(text).length - 1
    if (level === 'trace') expect(count('"msg":"request"')).toBeGreaterThan(100)
    if (level === 'info') expect(count('"level":50')).toBe(1)
    if (level === 'fatal') expect(count('"level"')).toBe(0)
  })

  test('the search finds planted secrets: in the database, its log and the output', async () => {
    const server = running[0]
    if (server === undefined) throw new Error('no server ran')
    const file = join(server.folder, 'data/pubring.db')
    const plant = (name: string) => appendFileSync(name, `... ${typo.slice(20, 44)} ...`)
    const before = readFileSync(file)
    expect(Object.keys(outputsAndDatabases(server.folder))).toEqual(
      expect.arrayContaining([file, 'output 0']),
    )
    plant(`${file}-wal`)
    expect(() => expectNoSecret(outputsAndDatabases(server.folder))).toThrow(
      /an API key is in .*-wal/,
    )
    appendFileSync(`${file}-wal`, '', { flag: 'w' })
    plant(file)
    expect(() => expectNoSecret(outputsAndDatabases(server.folder))).toThrow(
      /an API key is in .*\.db$/,
    )
    appendFileSync(file, before, { flag: 'w' })
    const printed = { ...outputsAndDatabases(server.folder), 'output 0': server.output() }
    expect(() => expectNoSecret(printed)).toThrow(/an API key is in output 0/)
    expectNoSecret(outputsAndDatabases(server.folder))
  })
})
