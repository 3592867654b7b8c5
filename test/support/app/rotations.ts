import { expect } from 'vitest'
import type { KeyState } from '../../../packages/server/src/features/keys/contract.ts'
import type { Rotation } from '../../../packages/server/src/features/rotations/contract.ts'
import type { LedgerEvent } from '../../../packages/server/src/kernel/ledger/chain.ts'
import { readEvents } from '../../../packages/server/src/kernel/ledger/event-reads.ts'
import { type KeyChangesApp, startKeyChanges } from './key-changes.ts'
import { newProject, registerKey, type TestProject } from './keys.ts'

const rotationsUrl = (project: TestProject) => `/v1/projects/${project.name}/rotations`

/** Milliseconds until every verifier knows of a change. */
export const convergenceMs = 61_000

/** Seconds that tokens are valid in rotations. */
export const tokenLifetime = 900

/** A project with two active keys, the old one of which every verifier knows. */
export interface RotationScene {
  project: TestProject
  url: string
  from: string
  to: string
}

export interface RotationsApp extends KeyChangesApp {
  scene(): Promise<RotationScene>
  start(scene: RotationScene, members?: object, secret?: string): Promise<Rotation>
  get(scene: RotationScene, id: string): Promise<Rotation>
  states(scene: RotationScene): Promise<Record<string, KeyState>>
  events(scene: RotationScene): Promise<LedgerEvent[]>
  finish(scene: RotationScene, id: string): ReturnType<RotationsApp['send']>
}

export async function startRotationsApp(): Promise<RotationsApp> {
  const app = await startKeyChanges()
  let count = 0
  const json = async (method: 'GET' | 'POST', url: string, body?: object, secret = app.admin) => {
    const headers = { 'x-api-key': secret }
    const response = await app.send(method, url, { body, headers })
    expect(response.statusCode, response.body).toBe(method === 'POST' ? 201 : 200)
    return response.json()
  }
  return {
    ...app,
    async scene() {
      count += 1
      const project = await newProject(app, `rotated-${count}`)
      const from = await registerKey(app, { name: 'old' }, project.keys)
      app.clock.advance(convergenceMs)
      const to = await registerKey(app, { name: 'new' }, project.keys)
      return { project, url: rotationsUrl(project), from, to }
    },
    start: ({ url, from, to }, members = {}, secret) =>
      json('POST', url, { from, to, tokenLifetime, ...members }, secret),
    get: ({ url }, id) => json('GET', `${url}/${id}`),
    async states({ project }) {
      const entries = await json('GET', `/v1/projects/${project.name}/key-states`)
      return Object.fromEntries(
        entries.map(({ kid, state }: { kid: string; state: KeyState }) => [kid, state]),
      )
    },
    events: ({ project }) =>
      readEvents(app.context.store.reader, project.id, { after: 0, limit: 500 }),
    finish: ({ url }, id) => app.send('POST', `${url}/${id}/finish`),
  }
}
