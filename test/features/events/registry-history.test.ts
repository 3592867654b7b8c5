import { expect, test } from 'vitest'
import { projectChanges } from '../../../packages/server/src/features/projects/changes.ts'
import { newId } from '../../../packages/server/src/kernel/values/ids.ts'
import { startApp } from '../../support/app/app.ts'
import { newProject, registerKey } from '../../support/app/keys.ts'
import { createPersonSession } from '../../support/store/sessions.ts'

const server = await startApp()
const orders = await newProject(server, 'orders')
const kid = await registerKey(server, { active: false }, orders.keys)
await server.send('DELETE', `${orders.keys}/${kid}`)

const history = (query: string) => server.send('GET', `/v1/history?${query}`)

async function found(query: string): Promise<{ type: string; projectId?: string }[]> {
  const response = await history(query)
  expect(response.statusCode, response.body).toBe(200)
  return response.json()
}

test('a deleted key, a request and an API key are found, in all ledgers, newest first', async () => {
  const [deleted, created] = await found(`subject=${kid}`)
  expect(deleted).toMatchObject({
    ...{ type: 'key.deleted', projectId: orders.id, projectName: 'orders', label: 'n' },
  })
  expect(created).toMatchObject({ type: 'key.created' })
  const requestId = String(Object(deleted).requestId)
  expect(await found(`requestId=${requestId.toUpperCase()}`)).toEqual([deleted])
  const { id } = (
    await server.send('POST', '/v1/api-keys', { body: { name: 'ci', role: 'reader' } })
  ).json()
  const [made] = await found(`subject=${id}`)
  expect(made).toMatchObject({ type: 'api_key.created' })
  expect(made).not.toHaveProperty('projectId')
  expect(await found(`subject=${id},${kid}`)).toEqual([made, deleted, created])
  const page = await server.send('GET', '/v1/history?limit=2')
  expect(page.json()).toEqual([made, deleted])
  const [, next = ''] = /<([^>]+)>; rel="next"/.exec(String(page.headers.link)) ?? []
  expect((await server.send('GET', next.slice(next.indexOf('/v1/')))).json()[0]).toEqual(created)
})

test('a project is named by its name or id, and once it is deleted by its id', async () => {
  const { id, name } = await newProject(server, 'gone')
  expect(await found(`project=${name.toUpperCase()}`)).toEqual(await found(`project=${id}`))
  await server.send('DELETE', `/v1/projects/${name}`)
  expect((await found(`project=${id}`)).map(({ type }) => type)).toEqual([
    'project.deleted',
    'project.created',
  ])
  expect((await found(`project=${id}`))[0]).not.toHaveProperty('projectName')
  expect((await history(`project=${name}`)).json().code).toBe('project_not_found')
})

test('a person is named by id, name, email address or subject, and namesakes are all found', async () => {
  const rename = async (subject: string, name: string) => {
    const { store } = server.context
    const email = `${subject}@example.com`
    const { person } = await createPersonSession(store, {}, { name: 'Ada', subject, email })
    const user = { issuer: person.issuer, subject, sessionId: newId() }
    const origin = { actor: { name: '', user }, requestId: newId(), time: person.lastSignInTime }
    await store.commit(projectChanges.renameProject, {
      origin,
      projectId: orders.id,
      name,
    })
    return person.id
  }
  const id = await rename('u-1', 'first')
  await rename('u-2', 'second')
  const subjects = async (person: string) => {
    const events = await found(`person=${encodeURIComponent(person)}&type=project.renamed`)
    return [...new Set(events.map((event) => Object(event).actor.user.subject))]
  }
  for (const person of [id.toUpperCase(), 'u-1', 'u-1@example.com']) {
    expect(await subjects(person)).toEqual(['u-1'])
  }
  expect(await subjects('Ada')).toEqual(['u-2', 'u-1'])
  expect(await subjects('ada')).toEqual([])
})

test.each([
  ['after=x', 'after'],
  [`after=${Buffer.from('x sd 1').toString('base64url')}`, 'after'],
  ['type=key.create', 'type'],
  ['from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z', 'to'],
  ['person=%00', 'person'],
  ['limit=201', 'limit'],
  ['since=2026-02-01T00:00:00Z', 'since'],
])('%s is refused', async (query, parameter) => {
  const response = await history(query)
  expect(response.json()).toMatchObject({ code: 'invalid_request', errors: [{ parameter }] })
})
