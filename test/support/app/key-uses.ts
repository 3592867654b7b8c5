import { expect } from 'vitest'
import type { KeyUse } from '../../../packages/server/src/features/keys/contract.ts'
import { startApp, type TestApp } from './app.ts'
import { stoppedClock, type TestClock } from './clock.ts'
import { newProject, registerKey, type TestProject } from './keys.ts'

export const minuteMs = 60_000
export const hourMs = 60 * minuteMs

/** A project with an active key, whose uses are reported. */
export interface UsedKey extends TestProject {
  kid: string
  uses: string
}

export interface KeyUsesApp extends TestApp {
  clock: TestClock
  /** The time this many milliseconds from now. */
  timeIn(ms: number): string
  usedKey(): Promise<UsedKey>
  /** Reports uses, with these differences, as an admin or with the API key. */
  report(used: UsedKey, members?: object, apiKey?: string): ReturnType<TestApp['send']>
  /** `details.use` of the key. */
  use(used: UsedKey, kid?: string): Promise<KeyUse | undefined>
}

export async function startKeyUses(
  options: Omit<NonNullable<Parameters<typeof startApp>[0]>, 'clock'> = {},
): Promise<KeyUsesApp> {
  const clock = stoppedClock()
  const app = await startApp({ ...options, clock })
  const timeIn = (ms: number) => new Date(clock.now() + ms).toISOString()
  let projects = 0
  return {
    ...app,
    clock,
    timeIn,
    async usedKey() {
      projects += 1
      const project = await newProject(app, `used-${projects}`)
      const kid = await registerKey(app, {}, project.keys)
      return { ...project, kid, uses: `/v1/projects/${project.name}/key-uses` }
    },
    report({ uses, kid }, members = {}, apiKey = app.admin) {
      const body = {
        reporter: 'orders-api',
        uses: [{ kid, lastTime: timeIn(0), lastExp: timeIn(hourMs) }],
        ...members,
      }
      return app.send('POST', uses, { body, headers: { 'x-api-key': apiKey } })
    },
    async use({ keys, kid }, other = kid) {
      const response = await app.send('GET', `${keys}/${other}`)
      expect(response.statusCode, response.body).toBe(200)
      return response.json().details.use
    },
  }
}
