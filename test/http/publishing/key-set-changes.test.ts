import type { ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApp, type TestApp } from '../../support/app/app.ts'
import {
  fetchJwks,
  jwksUrl,
  newProject,
  patchKey,
  registerKey,
  type TestProject,
} from '../../support/app/keys.ts'
import { freshPem } from '../../support/keys/fresh-keys.ts'
import { rawConnection, requestHead } from '../../support/network/raw-connection.ts'
import { expectWithin } from '../../support/timing.ts'

let server: TestApp
let base: string
const log: string[] = []
beforeAll(async () => {
  server = await startApp({
    http: {
      heldRequests: { capacity: 4, share: 100 },
      logStream: { write: (line) => void log.push(line) },
    },
  })
  base = await server.listen()
})
afterAll(() => server.close())

interface Followed {
  project: string
  etag?: string
}
interface Change extends Followed {
  projectId: string
  maxAge: number
  discovery: { issuer: string }
  jwks: { keys: { kid: string }[] }
  fullJwks: { keys: { kid: string }[] }
  problem?: { code: string }
}

async function changes(projects: Followed[], prefer = 'wait=0'): Promise<Change[]> {
  const response = await fetch(`${base}/v1/key-set-changes`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', prefer },
    body: JSON.stringify({ projects }),
  })
  expect(response.status).toBe(200)
  expect(response.headers.get('cache-control')).toBe('no-store')
  return response.json() as Promise<Change[]>
}

let projects = 0
async function withKeys(count: number): Promise<{ project: TestProject; kid: string }[]> {
  const made = []
  for (let index = 0; index < count; index += 1) {
    projects += 1
    const project = await newProject(server, `followed-${projects}`)
    made.push({ project, kid: await registerKey(server, {}, project.keys) })
  }
  return made
}

test('the first request gets the key sets of all projects, by id and by name', async () => {
  const [one, other] = (await withKeys(2)).map(({ project }) => project)
  if (one === undefined || other === undefined) throw new Error('no projects')
  const found = await changes([{ project: other.id }, { project: one.name }])
  expect(found.map(({ project }) => project)).toEqual([other.id, one.name])
  expect(found.map(({ projectId }) => projectId)).toEqual([other.id, one.id])
  const published = await fetchJwks(server, {}, one.jwks)
  expect(found[1]?.jwks).toEqual(published.json())
  expect(found[1]?.fullJwks).toEqual((await fetchJwks(server, {}, one.fullJwks)).json())
  expect(found[1]?.maxAge).toBe(60)
  expect(found[1]?.discovery.issuer).toMatch(new RegExp(`/v1/projects/${one.id}$`))
})

test('a held request gets only what changed, within a second', async () => {
  const made = await withKeys(3)
  const first = await changes(made.map(({ project }) => ({ project: project.name })))
  const followed = first.map(({ project, etag }) => ({ project, ...(etag && { etag }) }))
  expect(await changes(followed)).toEqual([])
  const held = changes(followed, 'wait=60')
  await delay(300)
  const [, changed] = made
  if (changed === undefined) throw new Error('no project')
  const began = performance.now()
  await patchKey(server, changed.kid, { active: false }, changed.project.keys)
  const news = await held
  expectWithin(1_000, performance.now() - began)
  expect(news.map(({ project }) => project)).toEqual([changed.project.name])
  expect(news[0]?.fullJwks.keys).toEqual([])
  expect(news[0]?.etag).not.toBe(first[1]?.etag)
})

test('without a change the response is empty after the wait', async () => {
  const [{ project } = { project: { name: '' } }] = await withKeys(1)
  const [first] = await changes([{ project: project.name }])
  const began = performance.now()
  const followed = [{ project: project.name, etag: first?.etag ?? '' }]
  expect(await changes(followed, 'wait=1')).toEqual([])
  expect(performance.now() - began).toBeGreaterThan(900)
})

test('a project that is unknown, or is deleted meanwhile, is reported without failing the others', async () => {
  const doomed = await newProject(server, 'doomed')
  const [{ project } = { project: { name: '' } }] = await withKeys(1)
  const first = await changes([{ project: 'nobody' }, { project: project.name }])
  expect(first[0]).toMatchObject({ project: 'nobody', problem: { code: 'project_not_found' } })
  expect(first[1]?.jwks.keys).toHaveLength(1)
  const [{ etag } = { etag: '' }] = await changes([{ project: 'doomed' }])
  const held = changes([{ project: 'doomed', etag: etag ?? '' }], 'wait=60')
  await delay(300)
  await server.send('DELETE', `/v1/projects/${doomed.id}`)
  expect(await held).toMatchObject([{ project: 'doomed', problem: { code: 'project_not_found' } }])
})

test('beyond the limit of held projects the response comes at once, until others disconnect', async () => {
  const made = await withKeys(3)
  const first = await changes(made.map(({ project }) => ({ project: project.name })))
  const followed = first.map(({ project, etag }) => ({ project, ...(etag && { etag }) }))
  for (let round = 0; round < 3; round += 1) {
    const controller = new AbortController()
    const held = fetch(`${base}/v1/key-set-changes`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', prefer: 'wait=60' },
      body: JSON.stringify({ projects: followed }),
      signal: controller.signal,
    })
    await delay(200)
    expect(await changes(followed, 'wait=60')).toEqual([])
    controller.abort()
    await expect(held).rejects.toThrow()
    await delay(200)
  }
  expect(log.filter((line) => line.includes('"code":"internal"'))).toEqual([])
})

test('a response that is not read waits project by project, not as a whole', async () => {
  const made = await withKeys(6)
  const all = Array.from({ length: 6 }, () => freshPem('ML-DSA-87'))
  for (const { project } of made) {
    for (const publicKeyPem of all) {
      await registerKey(server, { publicKeyPem, algorithm: 'ML-DSA-87' }, project.keys)
    }
  }
  const projects = made.map(({ project }) => ({ project: project.id }))
  const length = JSON.stringify(await changes(projects)).length
  const etag = String((await fetchJwks(server)).headers.etag)
  const responses: ServerResponse[] = []
  server.app.server.on('request', (_request, response) => responses.push(response))
  const connection = rawConnection(base)
  const body = JSON.stringify({ projects })
  const held = ['Host: x', `If-None-Match: ${etag}`, 'Prefer: wait=60']
  const headers = ['Host: x', 'Content-Type: application/json', `Content-Length: ${body.length}`]
  // Responses are sent in order, so the second waits for the first as for a client that reads nothing.
  connection.socket.write(requestHead(`GET ${jwksUrl} HTTP/1.1`, ...held))
  connection.socket.write(requestHead('POST /v1/key-set-changes HTTP/1.1', ...headers) + body)
  await expect.poll(() => responses[1]?.headersSent).toBe(true)
  await delay(100)
  const highWaterMark = 64 * 1024
  expect(responses[1]?.writableLength).toBeLessThan(highWaterMark + length / made.length)
  expect(length).toBeGreaterThan(highWaterMark + (2 * length) / made.length)
  connection.socket.destroy()
})

test('the request is validated: 1 to 100 projects, each once, and no other member', async () => {
  for (const body of [
    { projects: [] },
    { projects: Array.from({ length: 101 }, () => ({ project: 'p' })) },
    { projects: [{ project: 'p', tag: 'x' }] },
    { projects: [{ etag: 'x' }] },
    { projects: [{ project: 'payments' }, { project: 'Payments' }] },
    {},
  ]) {
    const response = await server.inject({
      method: 'POST',
      url: '/v1/key-set-changes',
      headers: { 'content-type': 'application/json' },
      payload: JSON.stringify(body),
    })
    expect(response.json()).toMatchObject({ status: 400, code: 'invalid_request' })
  }
})

test('a browser may ask from any origin, and read how old the key sets are', async () => {
  const url = `${base}/v1/key-set-changes`
  const preflight = await fetch(url, {
    method: 'OPTIONS',
    headers: {
      origin: 'https://app.example',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'content-type, prefer',
    },
  })
  expect(preflight.status).toBe(204)
  expect(preflight.headers.get('access-control-allow-origin')).toBe('*')
  expect(preflight.headers.get('access-control-allow-methods')).toBe('POST')
  expect(preflight.headers.get('access-control-allow-headers')).toBe('*')
  expect(preflight.headers.get('access-control-expose-headers')).toContain('Age')
})
