import { beforeAll, describe, expect, test } from 'vitest'
import { ecKey } from '../support/keys/pem.ts'
import {
  type CallResult,
  createKey,
  createProject,
  createReplicas,
  kidsOf,
  publishedKids,
  type Replica,
} from '../support/server/replicas.ts'
import { createBlankDatabase } from '../support/store/database.ts'
import { expectWithin } from '../support/timing.ts'

const statuses = (responses: CallResult[]) => responses.map(({ status }) => status).sort()
const codes = (responses: CallResult[]) =>
  responses.filter(({ status }) => status !== 201).map(({ body }) => JSON.parse(body).code)

describe.each(['sqlite', 'postgres'] as const)('two processes on one database (%s)', (engine) => {
  let one: Replica
  let other: Replica
  beforeAll(async () => {
    const replicas = createReplicas((await createBlankDatabase(engine)).url)
    one = await replicas.add()
    other = await replicas.add()
  })

  /** Twenty concurrent calls, half of them to each process. */
  const twenty = (call: (replica: Replica, index: number) => Promise<CallResult>) =>
    Promise.all(Array.from({ length: 20 }, (_, i) => call(i % 2 === 0 ? one : other, i)))

  test('20 concurrent creates of one project name: one 201, 19 times 409', async () => {
    const responses = await twenty((replica) =>
      replica.call('POST', '/v1/projects', { name: 'contested' }),
    )
    expect(statuses(responses)).toEqual([201, ...Array(19).fill(409)])
    expect(new Set(codes(responses))).toEqual(new Set(['project_name_taken']))
  })

  test('a name that a project gives up is given to no other one at that moment', async () => {
    const id = await createProject(one, 'given-up')
    const taking = Array.from({ length: 10 }, (_, i) =>
      (i % 2 === 0 ? one : other).call('POST', '/v1/projects', { name: 'given-up' }),
    )
    const renamed = await one.call('PATCH', `/v1/projects/${id}`, { name: 'given-away' })
    expect(renamed.status).toBe(200)
    const responses = [
      ...(await Promise.all(taking)),
      await other.call('POST', '/v1/projects', { name: 'given-up' }),
    ]
    expect(new Set(codes(responses))).toEqual(new Set(['project_name_taken']))
    expect(statuses(responses)).toEqual(Array(11).fill(409))
  })

  test('20 concurrent creates of one key: one 201, 19 times 409 with its kid', async () => {
    await createProject(one, 'duplicates')
    const { publicKeyPem } = ecKey()
    const responses = await twenty((replica) => createKey(replica, 'duplicates', publicKeyPem))
    expect(statuses(responses)).toEqual([201, ...Array(19).fill(409)])
    expect(new Set(codes(responses))).toEqual(new Set(['duplicate_key']))
    const [kid] = await kidsOf(other, 'duplicates')
    for (const { body } of responses) expect(JSON.parse(body).kid).toBe(kid)
  })

  test('after 200 concurrent activations, deactivations and a new label, all views agree', async () => {
    await createProject(one, 'racing')
    const { kid } = JSON.parse((await createKey(one, 'racing')).body)
    const path = `/v1/projects/racing/jwt-keys/${kid}`
    const times: string[] = []
    const answered: string[] = []
    const changes = Array.from({ length: 200 }, async (_, index) => {
      const replica = index % 2 === 0 ? one : other
      const patch = index === 100 ? { label: 'renamed' } : { active: index % 3 !== 0 }
      const response = await replica.call('PATCH', path, patch)
      expect(response.status, response.body).toBe(200)
      answered.push(String(JSON.parse(response.body).updateTime))
    })
    const watch = (async () => {
      for (let reads = 0; reads < 30; reads += 1) {
        const response = await one.call('GET', path)
        expect(response.status, response.body).toBe(200)
        times.push(String(JSON.parse(response.body).updateTime))
      }
    })()
    await Promise.all([...changes, watch])
    const changed = performance.now()
    expect(times).toEqual(times.toSorted())
    const [single, list, elsewhere] = await Promise.all([
      one.call('GET', path),
      one.call('GET', '/v1/projects/racing/jwt-keys'),
      other.call('GET', path),
    ])
    const key = JSON.parse(single.body)
    expect(key.label).toBe('renamed')
    expect(key.updateTime).toBe(answered.toSorted().at(-1))
    expect(JSON.parse(elsewhere.body)).toEqual(key)
    expect(elsewhere.etag).toBe(single.etag)
    const { details: _, ...members } = key
    expect(JSON.parse(list.body)).toEqual([members])
    for (const replica of [one, other]) {
      await expect
        .poll(() => publishedKids(replica, 'racing'))
        .toEqual(key.active ? [kid] : ['no-active-key'])
    }
    expectWithin(1_000, performance.now() - changed)
    const { body } = await one.call('GET', '/v1/projects/racing/events?limit=200')
    const states = JSON.parse(body).flatMap(
      ({ changes }: { changes: { active?: { to: boolean } } }) => changes?.active?.to ?? [],
    )
    expect(states.at(-1)).toBe(key.active)
  })

  test('a project deleted during a create: 201 and 409, or 404 and 204, 100 times', async () => {
    const outcomes = new Set<string>()
    for (let round = 0; round < 100; round += 1) {
      const id = await createProject(one, 'short-lived')
      const [created, deleted] = await Promise.all([
        createKey(round % 2 === 0 ? one : other, 'short-lived'),
        other.call('DELETE', `/v1/projects/${id}`),
      ])
      outcomes.add(`${created.status} ${deleted.status}`)
      if (created.status === 201) {
        expect(deleted.status).toBe(409)
        const { kid } = JSON.parse(created.body)
        const path = `/v1/projects/${id}/jwt-keys/${kid}`
        expect((await one.call('PATCH', path, { active: false })).status).toBe(200)
        expect((await one.call('DELETE', path)).status).toBe(204)
        expect((await one.call('DELETE', `/v1/projects/${id}`)).status).toBe(204)
      } else expect([created.status, deleted.status]).toEqual([404, 204])
      expect((await one.call('GET', `/v1/projects/${id}/jwt-keys`)).status).toBe(404)
    }
    const id = await createProject(other, 'short-lived')
    expect(await kidsOf(one, 'short-lived')).toEqual([])
    expect(await publishedKids(one, id)).toEqual([])
  })
})
