import type { Response } from 'light-my-request'
import type { JwtKeyWithDetails } from '../../../packages/server/src/features/keys/contract.ts'
import { startApp, type TestApp } from './app.ts'
import { type TestClock, testClock } from './clock.ts'
import { keyUrl } from './keys.ts'

/** An application whose keys a writer changes. */
export interface KeyChangesApp extends TestApp {
  clock: TestClock
  /** The secret of a writer of the project. */
  writer: string
  patch(kid: string, body: unknown, headers?: Record<string, string>): Promise<Response>
  remove(kid: string, headers?: Record<string, string>): Promise<Response>
  /** Reads the key as an admin. */
  read(kid: string): Promise<JwtKeyWithDetails>
  /** A timestamp this many milliseconds ahead of the clock. */
  inFuture(ms: number): string
}

export async function startKeyChanges(): Promise<KeyChangesApp> {
  const clock = testClock()
  const app = await startApp({ clock, config: { maxKeysPerProject: 500 } })
  const writer = await app.apiKey('writer', app.project.id)
  return {
    ...app,
    clock,
    writer,
    patch: (kid, body, headers) =>
      app.send('PATCH', keyUrl(kid), { body, headers: { 'x-api-key': writer, ...headers } }),
    remove: (kid, headers) =>
      app.send('DELETE', keyUrl(kid), { headers: { 'x-api-key': writer, ...headers } }),
    read: async (kid) => (await app.send('GET', keyUrl(kid))).json(),
    inFuture: (ms) => new Date(clock.now() + ms).toISOString(),
  }
}
