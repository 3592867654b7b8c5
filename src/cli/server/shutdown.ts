import process from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import type { HttpApp } from '../../http/app.ts'

/**
 * Milliseconds between "not ready" and the end of listening: answers say `Connection: close` and a
 * balancer that watches readiness sends its next requests elsewhere.
 */
const farewell = 500

/** What a parent sends to its workers. */
export const endMessage = 'end'

/** Calls `end` at the first SIGTERM, SIGINT or word of the parent, and `insist` at each later one. */
export function whenTold(end: (by: string) => void, insist: () => void): void {
  let told = false
  const hear = (by: string) => {
    if (told) return insist()
    told = true
    end(by)
  }
  process.on('SIGTERM', hear)
  process.on('SIGINT', hear)
  process.on('message', (message) => {
    if (message === endMessage) hear('the parent')
  })
}

/**
 * Ends the process: not ready, then no new connections, every accepted request answered, exit 0
 * within the grace (seconds). What is under way at its end is cut off.
 */
export async function shutDown(app: HttpApp, grace: number, by: string): Promise<void> {
  app.log.info({ by }, 'shutting down')
  setTimeout(() => cutOff(app), grace * 1_000 - farewell).unref()
  setTimeout(() => stop(app, 'stopped before all was closed'), grace * 1_000 - farewell / 2).unref()
  app.readiness.shuttingDown = true
  await delay(Math.min(farewell, grace * 100))
  await app.close()
  stop(app, 'stopped')
}

function cutOff(app: HttpApp): void {
  app.log.warn('requests were still under way at the end of the grace; closing their connections')
  app.server.closeAllConnections()
}

/**
 * By `exit`, which leaves files as they are: a database that was damaged meanwhile keeps the log
 * that it can be mended with.
 */
function stop(app: HttpApp, how: string): void {
  app.log.info(how)
  process.exit(0)
}
