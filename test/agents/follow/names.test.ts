import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { followOnce } from '../../../packages/agents/src/follow/follow.ts'
import type { FollowFlags } from '../../../packages/cli/src/follow/options.ts'
import { projectChanges } from '../../../packages/server/src/features/projects/changes.ts'
import { startApp } from '../../support/app/app.ts'
import { testClock } from '../../support/app/clock.ts'
import { otherOrigin } from '../../support/app/event-streams.ts'
import { followOptions, kidsIn, startFollower } from '../../support/app/followers.ts'
import { newProject, patchKey, registerKey, type TestProject } from '../../support/app/keys.ts'
import { temporaryFolder } from '../../support/server/process.ts'

const { folder } = temporaryFolder()
const server = await startApp()
const url = await server.listen()
const soon = { interval: 20 }

let count = 0
async function projectWithKey() {
  count += 1
  const project = await newProject(server, `named-${count}`)
  const kid = await registerKey(server, {}, project.keys)
  const out = join(folder, project.name, 'keys.json')
  const keysById = `/v1/projects/${project.id}/jwt-keys`
  return { project, kid, out, keysById }
}

async function follow(projects: readonly string[], flags: Partial<FollowFlags>) {
  return startFollower(await followOptions(url, projects, { listen: '127.0.0.1:0', ...flags }))
}

const context = {
  clock: testClock(),
  signal: new AbortController().signal,
  onReload: () => {},
  report: () => {},
}

const rename = ({ id }: TestProject, name: string) =>
  server.context.store.commit(projectChanges.renameProject, {
    origin: otherOrigin(),
    projectId: id,
    name,
    release: true,
  })

const readiness = async (follower: Awaited<ReturnType<typeof follow>>) => {
  const response = await follower.get('/health/ready')
  return `${response.status} ${await response.text()}`
}
const metric = async (follower: Awaited<ReturnType<typeof follow>>, name: string) => {
  const text = await (await follower.get('/metrics')).text()
  return new RegExp(`^${name}(?:{.*})? (.+)$`, 'm').exec(text)?.[1]
}

describe.each(['with', 'without'])('a project %s a key of its own loses its name', (takeOver) => {
  test('it is followed by its id, readiness and a metric say so, and no other keys appear', async () => {
    const { project, kid, out, keysById } = await projectWithKey()
    const other = await projectWithKey()
    const follower = await follow([project.name], { out })
    await expect.poll(() => kidsIn(out), soon).toEqual([kid])
    expect(await readiness(follower)).toBe('200 ok\n')
    expect(await metric(follower, 'pubring_follow_name_lost')).toBe('0')
    await rename(project, `${project.name}-old`)
    if (takeOver === 'with') await rename(other.project, project.name)
    await expect
      .poll(() => readiness(follower), soon)
      .toBe(`503 the name has been lost: ${project.name}\n`)
    expect(await metric(follower, 'pubring_follow_name_lost')).toBe('1')
    expect(await metric(follower, 'pubring_follow_ready')).toBe('0')
    const loss = takeOver === 'with' ? `another project, ${other.project.id}` : 'No project has'
    await expect.poll(() => follower.reports.join('\n'), soon).toContain(loss)
    expect(follower.reports.join('\n')).toContain(`followed by its id, ${project.id}`)

    await patchKey(server, kid, { active: false }, keysById)
    await expect.poll(() => kidsIn(out), soon).toEqual([])
    const served = await follower.get(`/v1/projects/${project.name}/.well-known/jwks.json`)
    expect(await served.text()).not.toContain(other.kid)
  })
})

test('a project that has its name again is followed by it, and is ready', async () => {
  const { project, kid, out } = await projectWithKey()
  const follower = await follow([project.name], { out })
  await expect.poll(() => kidsIn(out), soon).toEqual([kid])
  await rename(project, `${project.name}-old`)
  await expect.poll(() => readiness(follower), soon).toContain('503')
  await rename(project, project.name)
  follower.reload()
  await expect.poll(() => readiness(follower), soon).toBe('200 ok\n')
})

test('a name that was taken while the follower did not run is not believed, once or running', async () => {
  const { project, kid, out } = await projectWithKey()
  const other = await projectWithKey()
  const options = await followOptions(url, [project.name], { out })
  await followOnce(options, context)
  await rename(project, `${project.name}-old`)
  await rename(other.project, project.name)
  await followOnce(options, context)
  expect(kidsIn(out)).toEqual([kid])
  const follower = await follow([project.name], { out })
  await expect.poll(() => follower.reports.join('\n'), soon).toContain('another project')
  expect(kidsIn(out)).toEqual([kid])
  const byId = await followOptions(url, [other.project.id], { out })
  await followOnce(byId, context)
  expect(kidsIn(out)).toEqual([other.kid])
})

test('the keys of the last run are served while the server is away, with their age', async () => {
  const { project, kid } = await projectWithKey()
  const state = join(folder, `${project.name}.state`)
  const first = await follow([project.name], { state })
  const path = `/v1/projects/${project.name}/.well-known/jwks.json`
  const read = () => JSON.parse(existsSync(state) ? readFileSync(state, 'utf8') : '{}')
  await expect.poll(() => read()[project.name]?.projectId, soon).toBe(project.id)
  await first.stop()
  const stored = read()
  stored[project.name].confirmedTime = new Date(Date.now() - 120_000).toISOString()
  writeFileSync(state, JSON.stringify(stored))
  const flags = { state, listen: '127.0.0.1:0' }
  const away = startFollower(await followOptions('http://127.0.0.1:1', [project.name], flags))
  await expect.poll(() => away.reports.join('\n'), soon).toContain('Serving')
  const response = await away.get(path)
  expect(await response.text()).toContain(kid)
  expect(Number(response.headers.get('age'))).toBeGreaterThanOrEqual(120)
  expect(await readiness(away)).toBe('200 ok\n')
})

test.each(['<html>', '[]', '{"p": {}}', '{"p": {"confirmedTime": "2026-01-31T12:00:00Z"}}'])(
  'the state %j is an error, and not an empty one',
  async (text) => {
    const state = join(folder, 'broken.state')
    writeFileSync(state, text)
    const options = await followOptions(url, ['p'], { state, listen: '127.0.0.1:0' })
    await expect(followOnce(options, context)).rejects.toThrow(/is not the state of a follower/)
  },
)

test.each([
  ['a folder', (state: string) => mkdirSync(state)],
  ['a link', (state: string) => symlinkSync(join(folder, 'elsewhere.state'), state)],
])('a state that is %s is an error, and not an empty one', async (name, place) => {
  const { project } = await projectWithKey()
  const state = join(folder, `${name}.state`)
  place(state)
  const options = await followOptions(url, [project.name], { state, listen: '127.0.0.1:0' })
  await expect(followOnce(options, context)).rejects.toMatchObject({
    name: 'AgentError',
    message: expect.stringMatching(/state in .* cannot be read .* let the follower read it/),
  })
})

test('a project that is not in the state may have the name of a member of all objects', async () => {
  const project = await newProject(server, 'constructor')
  const state = join(folder, 'others.state')
  writeFileSync(state, '{}')
  const options = await followOptions(url, [project.name], { state, listen: '127.0.0.1:0' })
  await followOnce(options, context)
  expect(JSON.parse(readFileSync(state, 'utf8')).constructor.projectId).toBe(project.id)
})

test('the alerts name only metrics that a follower has', async () => {
  const { project } = await projectWithKey()
  const follower = await follow([project.name], {})
  await expect.poll(() => readiness(follower), soon).toBe('200 ok\n')
  const text = await (await follower.get('/metrics')).text()
  const there = [...text.matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name)
  const rules = readFileSync('deploy/prometheus-follower-rules.yaml', 'utf8')
  const named = new Set([...rules.matchAll(/\bpubring_\w+/g)].map(([name]) => name))
  expect([...named].sort()).toEqual(there.sort())
})
