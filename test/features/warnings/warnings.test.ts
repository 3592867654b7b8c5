import { describe, expect, test } from 'vitest'
import type {
  ProjectHealth,
  Warning,
} from '../../../packages/server/src/features/warnings/contract.ts'
import { publicUrl, startApp } from '../../support/app/app.ts'
import { testClock } from '../../support/app/clock.ts'
import { newProject, patchKey, registerKey, type TestProject } from '../../support/app/keys.ts'

const dayMs = 86_400_000
const clock = testClock()

const server = await startApp({ clock, http: { metrics: true } })

const inDays = (days: number) => new Date(clock.now() + days * dayMs).toISOString()
let projects = 0

/** A project with a key of one signer for each time at which one expires, in days; none: it never does. */
async function projectWith(...expiries: (number | undefined)[]) {
  projects += 1
  const project = await newProject(server, `project-${projects}`)
  const kids: string[] = []
  for (const days of expiries) {
    const expiry = days === undefined ? {} : { expireTime: inDays(days) }
    kids.push(await registerKey(server, expiry, project.keys))
  }
  return { ...project, kids }
}

/** After a census of what there is now. */
async function warnings(secret = server.admin): Promise<Warning[]> {
  clock.advance(61_000)
  await listed(secret)
  await expect.poll(() => metric('pubring_keys_age_seconds')).toBeLessThan(30)
  return listed(secret)
}

async function listed(secret: string): Promise<Warning[]> {
  const headers = { 'x-api-key': secret }
  const response = await server.send('GET', '/v1/warnings', { headers })
  expect(response.statusCode, response.body).toBe(200)
  return response.json()
}

async function metric(name: string): Promise<number> {
  const text = (await server.app.metrics?.metrics()) ?? ''
  const line = text
    .split('\n')
    .find((each) => each.startsWith(`${name} `) || each.startsWith(`${name}{`))
  return Number(line?.split(' ').at(-1) ?? Number.NaN)
}

/** As an admin of all projects sees them, and as a reader of the project does. */
async function ofProject({ id }: TestProject): Promise<Warning[]> {
  const all = (await warnings()).filter(({ projectId }) => projectId === id)
  const bound = await listed(await server.apiKey('reader', id))
  expect(bound).toEqual(all.filter(({ apiKeyId }) => apiKeyId === undefined))
  return all
}

test('a key that expires is a warning, until its successor is registered', async () => {
  const project = await projectWith(6)
  const [kid] = project.kids
  expect(await ofProject(project)).toEqual([
    {
      code: 'key_expires',
      severity: 'warning',
      projectId: project.id,
      projectName: project.name,
      kid,
      label: 'n',
      time: expect.any(String),
      detail: expect.stringContaining('no key succeeds it'),
    },
  ])
  // Although the census is older.
  await registerKey(server, {}, project.keys)
  const all = await listed(server.admin)
  expect(all.filter(({ projectId }) => projectId === project.id)).toEqual([])
})

test('a rotation replaces a key until its successor is off', async () => {
  const project = await projectWith(5)
  const [from] = project.kids
  const to = await registerKey(server, { name: 'another signer' }, project.keys)
  const url = `/v1/projects/${project.name}/rotations`
  const body = { from, to, tokenLifetime: 60 }
  expect((await server.send('POST', url, { body })).statusCode).toBe(201)
  expect(await ofProject(project)).toEqual([])
  await patchKey(server, to, { active: false }, project.keys)
  expect(await ofProject(project)).toMatchObject([{ code: 'key_expires', kid: from }])
})

test('a change is a warning at once, although the census is older', async () => {
  const project = await projectWith(undefined)
  await warnings()
  await patchKey(server, project.kids[0] ?? '', { active: false }, project.keys)
  const all = await listed(server.admin)
  const warning = { code: 'no_active_key', severity: 'warning', projectName: project.name }
  expect(all.filter(({ projectId }) => projectId === project.id)).toMatchObject([warning])
  expect(await ofProject(project)).toMatchObject([warning])
})

test('a day after the last census there is another one before the response', async () => {
  await warnings()
  const project = await projectWith(30.5)
  clock.advance(dayMs)
  const all = await listed(server.admin)
  expect(all.filter(({ projectId }) => projectId === project.id)).toHaveLength(1)
})

test('if the keys cannot be counted, there is no old list but an error', async () => {
  await warnings()
  clock.advance(dayMs)
  const { database } = server
  await database.execute('alter table jwt_key rename column algorithm to gone')
  const response = await server.send('GET', '/v1/warnings')
  await database.execute('alter table jwt_key rename column gone to algorithm')
  expect(response.json()).toMatchObject({ status: 503, code: 'storage_unavailable' })
  await listed(server.admin)
})

test('API keys that expire are warnings for their admins alone', async () => {
  const project = await projectWith()
  const body = { name: 'leaving', role: 'reader', project: project.id, expireTime: inDays(5) }
  const { id } = (await server.send('POST', '/v1/api-keys', { body })).json()
  const expires = { code: 'api_key_expires', severity: 'warning', apiKeyId: id, label: 'leaving' }
  const admin = await server.apiKey('admin', project.id)
  for (const secret of [server.admin, admin]) {
    const found = (await listed(secret)).filter(({ apiKeyId }) => apiKeyId === id)
    expect(found).toMatchObject([{ ...expires, projectId: project.id, projectName: project.name }])
  }
  const reader = await server.apiKey('reader')
  const other = await server.apiKey('admin', (await projectWith()).id)
  for (const secret of [reader, other]) {
    expect((await listed(secret)).filter(({ apiKeyId }) => apiKeyId === id)).toEqual([])
  }
})

test('the warnings are counted for Prometheus, and sorted by urgency', async () => {
  await projectWith(0.5)
  const all = await warnings()
  const order = all.map(({ severity }) => ['critical', 'warning', 'info'].indexOf(severity))
  expect(order).toEqual(order.toSorted())
  const labels = 'code="key_expires",severity="critical"'
  await expect
    .poll(() => metric(`pubring_warnings{${labels}}`))
    .toBe(
      all.filter(({ code, severity }) => code === 'key_expires' && severity === 'critical').length,
    )
})

describe('the health of projects', () => {
  const health = async (query = '', secret = server.admin) => {
    const headers = { 'x-api-key': secret }
    return server.send('GET', `/v1/project-health${query}`, { headers })
  }

  test('counts keys by state and warnings, for the projects that the caller may see', async () => {
    const project = await projectWith(0.01, 5, undefined)
    await patchKey(server, project.kids[2] ?? '', { active: false }, project.keys)
    clock.advance(dayMs / 50)
    const reader = await server.apiKey('reader', project.id)
    expect((await health('', reader)).json()).toEqual([
      {
        projectId: project.id,
        keys: { active: 1, compromised: 0, off: 1, expired: 1 },
        rotations: 0,
        nextExpireTime: expect.any(String),
        warnings: [{ code: 'key_expires', severity: 'warning' }],
      },
    ])
  })

  test('comes in pages in the order of the projects', async () => {
    const expected = (await server.send('GET', '/v1/projects?limit=200')).json()
    const found: string[] = []
    let next: string | undefined = '?limit=4'
    while (next !== undefined) {
      const response = await health(next)
      found.push(...response.json().map(({ projectId }: ProjectHealth) => projectId))
      const [, link] = /^<(.+)>; rel="next"$/.exec(String(response.headers.link ?? '')) ?? []
      next = link?.slice(`${publicUrl}/v1/project-health`.length)
    }
    expect(found).toEqual(expected.map(({ id }: { id: string }) => id))
    expect((await health('?limit=51')).json().code).toBe('invalid_request')
  })
})
