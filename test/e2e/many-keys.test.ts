import { generateKeyPairSync } from 'node:crypto'
import { expect, test } from 'vitest'
import { readJson, startServer, temporaryFolder } from '../support/server/process.ts'

const { folder } = temporaryFolder()

const keyCount = 2_000
const concurrency = 32
const projectCount = keyCount / 50

test('2,000 keys created 32 at a time all succeed, and every list meanwhile is correct', async () => {
  const server = await startServer(folder)
  const headers = { 'X-Api-Key': server.apiKey, 'Content-Type': 'application/json' }
  const post = (path: string, body: object) =>
    fetch(`${server.url}/v1/projects${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    })
  for (let index = 0; index < projectCount; index += 1) await post('', { name: `p${index}` })

  const created = Array.from({ length: projectCount }, () => new Set<string>())
  const statuses: number[] = []
  let next = 0
  async function create(): Promise<void> {
    for (let index = next++; index < keyCount; index = next++) {
      const project = index % projectCount
      const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
      const publicKeyPem = publicKey.export({ format: 'pem', type: 'spki' })
      const body = { name: `key ${index}`, algorithm: 'ES256', publicKeyPem }
      const response = await post(`/p${project}/jwt-keys`, body)
      statuses.push(response.status)
      created[project]?.add((await readJson<{ kid: string }>(response)).kid)
    }
  }
  /** Each key acknowledged before the request for the list must be in it exactly once. */
  async function compareLists(): Promise<void> {
    for (let project = 0; next < keyCount; project = (project + 1) % projectCount) {
      const acknowledged = [...(created[project] ?? [])]
      const response = await fetch(`${server.url}/v1/projects/p${project}/jwt-keys`, { headers })
      const listed = (await readJson<{ id: string }[]>(response)).map(({ id }) => id)
      expect(listed).toEqual(expect.arrayContaining(acknowledged))
      expect(new Set(listed).size).toBe(listed.length)
    }
  }
  await Promise.all([...Array.from({ length: concurrency }, create), compareLists()])

  expect(statuses).toEqual(Array(keyCount).fill(201))
  for (const [project, kids] of created.entries()) {
    const response = await fetch(`${server.url}/v1/projects/p${project}/jwt-keys`, { headers })
    const listed = (await readJson<{ id: string }[]>(response)).map(({ id }) => id)
    expect(listed.sort()).toEqual([...kids].sort())
  }
  server.signal('SIGTERM')
  expect(await server.ended).toBe(0)
})
