import { Server } from 'node:net'
import process from 'node:process'
import { setTimeout as delay, setImmediate } from 'node:timers/promises'
import type { HttpApp } from '@pubring/server/app'

/**
 * Milliseconds between "not ready" and the end of listening: responses say `Connection: close`, and a
 * balancer that watches readiness sends its next requests elsewhere.
 */
const drainDelayMs = 500

/** Node's `backlog`: clients that connect without a pause do not delay the shutdown any longer. */
const maxWaiting = 511

/** Milliseconds for the first request of a connection that was accepted as listening ended. */
const firstRequestMs = 200

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
  setTimeout(() => closeAllConnections(app), graceMs - drainDelayMs).unref()
  setTimeout(
    () => exit(app, 'stopped before the shutdown was complete'),
    graceMs - drainDelayMs / 2,
  ).unref()
  app.readiness.shuttingDown = true
  await delay(Math.min(drainDelayMs, graceMs / 10))
  await acceptWaiting(app)
  // `app.close()` closes idle connections, and a new one is idle until its request has arrived.
  Server.prototype.close.call(app.server)
  await delay(Math.min(firstRequestMs, graceMs / 10))
  await app.close()
  exit(app, 'stopped')
}

/**
 * Accepts the connections that the system has established already: it would reset them, and a busy
 * process has many, because libuv accepts one per turn of the event loop.
 */
async function acceptWaiting({ server }: HttpApp): Promise<void> {
  let accepted = true
  server.on('connection', () => {
    accepted = true
  })
  for (let turn = 0; accepted && turn < maxWaiting; turn += 1) {
    accepted = false
    await setImmediate()
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
