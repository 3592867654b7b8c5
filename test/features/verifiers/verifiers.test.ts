import { expect, test } from 'vitest'
import type { Verifiers } from '../../../packages/server/src/features/key-uses/contract.ts'
import { keySetReadersOf } from '../../../packages/server/src/features/publishing/readers.ts'
import { startApp } from '../../support/app/app.ts'
import { stoppedClock } from '../../support/app/clock.ts'
import { fetchJwks, newProject, patchKey, registerKey } from '../../support/app/keys.ts'
import { waitUntil } from '../../support/waiting.ts'

const clock = stoppedClock()
const server = await startApp({ clock })
const base = await server.listen()
const start = new Date(clock.now()).toISOString()

async function startProject(name: string) {
  const project = await newProject(server, name)
  const kid = await registerKey(server, {}, project.keys)
  const get = (userAgent: string, url = project.jwks) =>
    fetchJwks(server, { 'user-agent': userAgent }, url)
  const list = async (): Promise<Verifiers> => {
    const response = await server.send('GET', `/v1/projects/${name}/verifiers`)
    expect(response.statusCode, response.body).toBe(200)
    return response.json()
  }
  const currentOnes = async () => {
    const { verifiers } = await list()
    return Object.fromEntries(verifiers.map((each) => [each.userAgent, each.hasCurrentSet]))
  }
  return { ...project, kid, get, list, currentOnes }
}

test('after a revocation it says which user agents have had the key set since', async () => {
  const { kid, keys, fullJwks, get, list, currentOnes } = await startProject('revoked')
  expect(await list()).toEqual({ since: start, verifiers: [] })
  // The response cache serves the last of them.
  for (const _again of [1, 2, 3, 4]) await get('gateway/1')
  await get('service/2', fullJwks)
  await get('haproxy/3', fullJwks.replace('jwks-full.json', 'keys.pem'))
  const all = { 'gateway/1': true, 'service/2': true, 'haproxy/3': true }
  expect(await currentOnes()).toEqual(all)
  await patchKey(server, kid, { label: 'renamed' }, keys)
  expect(await currentOnes()).toEqual(all)
  await patchKey(server, kid, { active: false }, keys)
  const none = { 'gateway/1': false, 'service/2': false, 'haproxy/3': false }
  expect(await currentOnes()).toEqual(none)
  for (const _again of [1, 2, 3, 4]) await get('gateway/1')
  expect(await currentOnes()).toEqual({ ...none, 'gateway/1': true })
})

test('it counts the requests that are held, and notes their answers', async () => {
  const { kid, keys, jwks, get, list } = await startProject('held')
  const { headers } = await get('first')
  const waiting = fetch(`${base}${jwks}`, {
    headers: {
      'user-agent': 'follower (edge-1)',
      'if-none-match': String(headers.etag),
      prefer: 'wait=60',
    },
  })
  const last = async () => (await list()).verifiers[0]
  await waitUntil(async () => (await last())?.held === 1)
  await patchKey(server, kid, { active: false }, keys)
  expect((await waiting).status).toBe(200)
  const userAgent = 'follower (edge-1)'
  expect(await last()).toEqual({ userAgent, time: start, hasCurrentSet: true, held: 0 })
})

test('the status names the followers that have asked, the last one first, with their projects', async () => {
  const [one, two] = [await startProject('one'), await startProject('two')]
  const followers = async () => (await server.send('GET', '/v1/status')).json().followers
  expect(await followers()).toEqual([])
  for (const { get } of [one, two]) await get('pubring-follow (edge-1)')
  clock.advance(5_000)
  await one.get('pubring-follow (edge-2)')
  await one.get('gateway/1')
  const [before, now] = [5_000, 0].map((ago) => new Date(clock.now() - ago).toISOString())
  expect(await followers()).toEqual([
    { name: 'edge-2', time: now, projects: 1 },
    { name: 'edge-1', time: before, projects: 2 },
  ])
})

/** The readers that another process has seen. */
function startReaders() {
  const { note, of } = keySetReadersOf({ clock })
  const fullJwks = { body: '', etag: '"x"' }
  return {
    of,
    note: (projectId: string, userAgent = 'gateway') => note({ projectId, fullJwks }, userAgent),
    sizes: (...ids: string[]) => ids.map((id) => of(id).byUserAgent.size),
  }
}

test('beyond 50,000 user agents a new one drops the oldest of the project with the most', () => {
  const { of, note, sizes } = startReaders()
  const since = clock.now()
  note('quiet')
  clock.advance(1_000)
  for (let index = 0; index < 50_000; index += 1) note(`flooded ${index % 50}`, `agent ${index}`)
  expect(sizes('quiet', 'flooded 0', 'flooded 49')).toEqual([1, 999, 1_000])
  expect(of('flooded 0')).toMatchObject({ since: clock.now() })
  for (let index = 0; index < 1_000; index += 1) note(`other ${index}`)
  expect(sizes('quiet', 'flooded 0', 'flooded 1', 'other 0')).toEqual([1, 979, 980, 1])
  expect(of('quiet')).toMatchObject({ since })
})

test('among projects with as many user agents, the one that nobody asked for the longest is dropped', () => {
  const { of, note, sizes } = startReaders()
  const since = clock.now()
  for (let index = 0; index < 50_000; index += 1) note(`project ${index}`)
  clock.advance(1_000)
  note('project 0')
  note('another')
  expect(of('project 1')).toMatchObject({ since, byUserAgent: new Map() })
  expect(sizes('project 0', 'project 2', 'another')).toEqual([1, 1, 1])
})

test('beyond 1,000 user agents each new one drops the one that asked longest ago', () => {
  const { of, note } = startReaders()
  const start = clock.now()
  clock.advance(1_000)
  const since = clock.now()
  for (let index = 0; index < 1_000; index += 1) note('flooded', `agent ${index}`)
  expect(of('flooded')).toMatchObject({ since: start, byUserAgent: { size: 1_000 } })
  clock.advance(1_000)
  note('flooded', 'agent 0')
  note('flooded', 'x'.repeat(5_000))
  const { byUserAgent, ...known } = of('flooded')
  expect(known).toMatchObject({ since })
  const names = [...byUserAgent.keys()]
  expect([names.length, names.includes('agent 1')]).toEqual([1_000, false])
  expect(names.slice(-2)).toEqual(['agent 0', 'x'.repeat(200)])
})
