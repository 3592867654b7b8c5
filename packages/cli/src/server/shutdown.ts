import { Server } from 'node:net'
import process from 'node:process'
import { setTimeout as delay, setImmediate } from 'node:timers/promises'
import type { HttpApp } from '@pubring/server/app'

/**
 * Milliseconds between "not ready" and the end of listening: two checks of a balancer fail in that time,
 * and it sends its next requests elsewhere. A proxy that does not check goes on with its open connections.
 */
const drainMs = 1_500

/**
 * Milliseconds after the end of listening in which open connections still take a request each: a proxy
 * repeats elsewhere what it could not connect for, but not a change on a connection that is closed.
 * `deploy/nginx.conf` closes idle connections sooner.
 */
const lastRequestsMs = 1_000

/** Milliseconds at the end of the grace period to close what is left. */
const reserveMs = 500

/** Node's `backlog`: clients that connect without a pause do not delay the shutdown any longer. */
const maxWaiting = 511

/** The longest turn of the event loop after which no connection waits for it, in milliseconds. */
const maxTurnMs = 1

/**
 * Keeps the signals without a meaning from ending the process and, in the case of SIGUSR1, from
 * opening Node's debugger. SIGHUP gets its meaning once the server has started.
 */
export function ignoreOtherSignals(): void {
  for (const signal of ['SIGHUP', 'SIGUSR1', 'SIGUSR2'] as const) process.on(signal, () => {})
}

/**
 * Calls `first` at the first SIGTERM, SIGINT, SIGQUIT or end of the terminal, and `repeat` at each
 * later one.
 */
export function onShutdownSignal(first: (source: string) => void, repeat: () => void): void {
  let isShuttingDown = false
  const handle = (source: string) => {
    if (isShuttingDown) return repeat()
    isShuttingDown = true
    first(source)
  }
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGQUIT'] as const) process.on(signal, handle)
  if (process.stdout.isTTY) process.on('SIGHUP', handle)
}

/**
 * Ends the process: reports not ready, stops listening, responds to every accepted request and exits
 * with 0. Connections still busy at the end of the grace period (seconds) are closed.
 */
export async function shutDown(app: HttpApp, graceSeconds: number, by: string): Promise<void> {
  const graceMs = graceSeconds * 1_000
  app.log.info({ by }, 'shutting down')
  setTimeout(() => closeAllConnections(app), graceMs - reserveMs).unref()
  setTimeout(
    () => exit(app, 'stopped before the shutdown was complete'),
    graceMs - reserveMs / 2,
  ).unref()
  app.readiness.shuttingDown = true
  await delay(Math.min(drainMs, graceMs / 5))
  await acceptWaiting(app)
  // `app.close()` would close idle connections too, and a new one is idle until its request has arrived.
  Server.prototype.close.call(app.server)
  await delay(Math.min(lastRequestsMs, graceMs / 10))
  await app.close()
  exit(app, 'stopped')
}

/**
 * Accepts the connections that the system has established already: it would reset them, and a busy
 * process has many, because libuv accepts one per turn of the event loop. Ends after a turn too short
 * for another to arrive.
 */
async function acceptWaiting({ server }: HttpApp): Promise<void> {
  let accepted = true
  server.on('connection', () => {
    accepted = true
  })
  let turnMs = 0
  for (let turn = 0; (accepted || turnMs > maxTurnMs) && turn < maxWaiting; turn += 1) {
    accepted = false
    const began = performance.now()
    await setImmediate()
    turnMs = performance.now() - began
  }
}

function closeAllConnections(app: HttpApp): void {
  app.log.warn('closing connections with unfinished requests: the grace period ends')
  app.server.closeAllConnections()
}

/** Exits without running finalizers: a damaged SQLite database keeps the log that can repair it. */
function exit(app: HttpApp, message: string): void {
  app.log.info(message)
  process.exit(0)
}
