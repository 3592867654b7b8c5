import { expect, test } from 'vitest'
import { createClient } from '../../packages/client/src/index.ts'
import { startApp } from '../support/app/app.ts'
import { patchKey, registerKey } from '../support/app/keys.ts'

const project = 'payments'

const server = await startApp()
const client = createClient({ url: await server.listen(), apiKey: server.admin })
const kid = await registerKey(server)
for (const label of ['a', 'b', 'c']) await patchKey(server, kid, { label })

test('events are filtered, page by page in either order, and all together', async () => {
  const query = { project, type: 'key.updated', limit: 2 }
  const first = await client.events.page(query)
  expect(first.items.map(({ label }) => label)).toEqual(['a', 'b'])
  const second = await client.events.page({ ...query, ...first.next })
  expect([second.items.map(({ label }) => label), second.next]).toEqual([['c'], undefined])
  const newest = await client.events.page({ ...query, order: 'desc' })
  expect(newest.next).toEqual({ before: expect.stringMatching(/^4\.[0-9a-f]{8}$/) })
  const all = await Array.fromAsync(client.events.all({ ...query, order: 'desc' }))
  expect(all.map(({ label }) => label)).toEqual(['c', 'b', 'a'])
  expect(await Array.fromAsync(client.events.all({ type: 'project.created' }))).toHaveLength(1)
})

test('a search finds a key by the beginning of its kid', async () => {
  const [key] = await client.keys.list(project)
  const { results } = await client.search(key?.id.slice(0, 8) ?? '', { limit: 5 })
  expect(results).toContainEqual(expect.objectContaining({ type: 'key', kid: key?.id }))
  await expect(client.search('')).rejects.toMatchObject({ code: 'invalid_request' })
})

test('warnings and the health of projects are read', async () => {
  const [{ id: kid = '' } = {}] = await client.keys.list(project)
  await client.keys.update(project, kid, { active: false })
  expect(await client.warnings()).toMatchObject([{ code: 'no_active_key', projectName: project }])
  const { items, next } = await client.projects.health({ limit: 1 })
  expect([items, next]).toMatchObject([
    [{ keys: { active: 0, off: 1 }, warnings: [{ code: 'no_active_key' }] }],
    undefined,
  ])
})

test('an export is the text of a file, and one that is cut off throws', async () => {
  const chunks = await Array.fromAsync(client.events.export({ project }))
  expect(chunks.join('').trimEnd().split('\n')).toHaveLength(6)
  const [line] = await Array.fromAsync(client.events.export({ project, type: 'key.created' }))
  expect(JSON.parse(line ?? '')).toMatchObject({ ledgerId: server.project.id, revision: 2 })
  const cut = createClient({
    url: client.url,
    apiKey: server.admin,
    fetch: async (...request) => {
      const { headers, body } = await fetch(...request)
      const half = body?.pipeThrough(
        new TransformStream({
          transform: (_chunk, controller) => controller.error(new Error('x')),
        }),
      )
      return new Response(half ?? null, { headers })
    },
  })
  const broken = Array.fromAsync(cut.events.export({ project }))
  await expect(broken).rejects.toMatchObject({ code: 'unreachable' })
})
