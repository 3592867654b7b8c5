import { setTimeout as delay } from 'node:timers/promises'
import type { Origin } from '../../../packages/server/src/kernel/changes.ts'
import { type EventStream, openEventStream } from '../network/event-stream.ts'
import { expectWithin } from '../timing.ts'
import { startApp, type TestApp } from './app.ts'
import { type TestClock, testClock } from './clock.ts'

export const maxEventStreams = 12

/** An application that listens, and the event streams that a test opened. */
export interface EventStreamApp extends TestApp {
  clock: TestClock
  url: string
  /** Opens the events of the project or another URL, by default with the admin API key. */
  open(headers?: Record<string, string>, path?: string): Promise<EventStream>
  /** Open streams, oldest first. */
  streams: EventStream[]
  closeStreams(): Promise<void>
}

export async function startEventStreamApp(
  maxStreams = maxEventStreams,
  share = 100,
): Promise<EventStreamApp> {
  const clock = testClock()
  const eventStreams = { capacity: maxStreams, share }
  const app = await startApp({ clock, config: { maxKeysPerProject: 1_000, eventStreams } })
  const url = await app.listen()
  const streams: EventStream[] = []
  return {
    ...app,
    clock,
    url,
    streams,
    async open(headers = {}, path = '/v1/projects/payments/events') {
      const stream = await openEventStream(url + path, { 'x-api-key': app.admin, ...headers })
      streams.push(stream)
      return stream
    },
    async closeStreams() {
      for (const stream of streams.splice(0)) {
        stream.close()
        await stream.endedCleanly
      }
      await delay(50)
    },
  }
}

/** The origin of changes made directly in the store, as by another process. */
export function otherOrigin(): Origin {
  return { actor: { name: 'other' }, requestId: 'x', time: new Date().toISOString() }
}

/** How the stream ends, which takes at most a second. */
export async function endOf({ endedCleanly }: EventStream): Promise<boolean> {
  const began = performance.now()
  const isClean = await endedCleanly
  expectWithin(1_000, performance.now() - began)
  return isClean
}

/** Whether the stream is still open after a while. */
export function staysOpen({ endedCleanly }: EventStream): Promise<boolean> {
  return Promise.race([endedCleanly.then(() => false), delay(400, true)])
}
