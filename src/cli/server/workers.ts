import cluster, { type Worker } from 'node:cluster'
import process from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import type { Config } from '../../config/server-settings.ts'
import { prepareRegistry } from '../../core/first-start.ts'
import { collectStartupGarbage } from '../../runtime/startup-garbage.ts'
import { exitCodes } from '../terminal/exit-codes.ts'
import { writeError } from '../terminal/terminal.ts'
import { listenForMetrics, openRegistry, requireFreePort } from './instance.ts'
import { onReloadSignal, reloadMessage } from './reload.ts'
import { onShutdownSignal, shutdownMessage } from './shutdown.ts'
import { announceReady, announceSecret } from './welcome.ts'
import { collectMetrics } from './worker-metrics.ts'

/** A worker that exits sooner after it began to listen has failed to start. */
const minUptimeMs = 1_000

/** Workers in a row that may fail to start before the parent gives up. */
const maxFailures = 5

/** Upper bound of the delay before a failed worker is replaced. */
const maxRestartDelayMs = 5_000

/** How long the parent waits for the database before it says so. */
const waitingNoticeMs = 2_000

/** How long workers may outlast the grace period of their shutdown before they are killed. */
const killDelayMs = 1_000

/**
 * Runs the configured number of worker processes on one port. This process serves nothing: it
 * prepares the registry once, replaces workers that exit, and ends after all of them.
 */
export async function runWorkers(config: Config): Promise<void> {
  await requireFreePort(config)
  await listenForMetrics(config, collectMetrics(liveWorkers))
  const newSecret = await prepareOnce(config)
  await collectStartupGarbage()
  superviseWorkers(config, {
    onReady: () => announceReady(config, newSecret),
    onStartFailure: () => announceSecret(newSecret),
  })
}

async function prepareOnce(config: Config): Promise<string | undefined> {
  const registry = await openRegistry(config, { mustExist: false })
  try {
    const notice = setTimeout(reportWaiting, waitingNoticeMs)
    await registry.prepared.finally(() => clearTimeout(notice))
    return (await prepareRegistry(registry.context, config.adminApiKey)).newSecret
  } finally {
    await registry.close()
  }
}

/** This process has no log. */
function reportWaiting(): void {
  writeError('pubring: The database cannot be reached. Waiting for it before any worker starts.\n')
}

interface StartHandlers {
  /** The first worker listens. */
  onReady(): void
  /** The first worker could not start, and has reported why. */
  onStartFailure(): void
}

/** Long because the supervisor is one state machine: its handlers share five variables. */
function superviseWorkers(
  { workers: size, shutdownGrace }: Config,
  { onReady, onStartFailure }: StartHandlers,
): void {
  /** Monotonic milliseconds. */
  const listeningSince = new Map<Worker, number>()
  let failures = 0
  let isReady = false
  let exitCode: number | undefined

  function handleListening(worker: Worker): void {
    listeningSince.set(worker, performance.now())
    // A worker that was still starting at the shutdown has missed the message.
    if (exitCode !== undefined) worker.send(shutdownMessage)
    if (isReady) return
    // Start one worker first, so a startup error is reported once.
    isReady = true
    for (let count = 1; count < size; count += 1) cluster.fork()
    onReady()
  }
  function handleExit(worker: Worker, code: number, signal: string): void {
    const since = listeningSince.get(worker)
    listeningSince.delete(worker)
    if (exitCode !== undefined) {
      exitAfterLastWorker(exitCode)
      return
    }
    if (!isReady) {
      onStartFailure()
      process.exit(code || exitCodes.error.code)
    }
    // A worker killed from outside did not fail by itself.
    const wasStable =
      since !== undefined && (signal === 'SIGKILL' || performance.now() - since >= minUptimeMs)
    failures = wasStable ? 0 : failures + 1
    void replace(`worker ${worker.process.pid} ended (${signal ?? `exit code ${code}`})`)
  }
  async function replace(event: string): Promise<void> {
    // Giving up would also end the workers that still listen, and they can serve from memory.
    if (failures >= maxFailures && listeningSince.size === 0) {
      writeError(`pubring: ${event} right after its start, like those before it: giving up.\n`)
      return shutDownWorkers(exitCodes.error.code)
    }
    writeError(`pubring: ${event}; starting another.\n`)
    if (failures > 0) await delay(Math.min(maxRestartDelayMs, 100 * 2 ** failures))
    if (exitCode === undefined) cluster.fork()
  }
  /** Workers respond to what they accepted; then this process exits with the code. */
  function shutDownWorkers(code: number): void {
    exitCode ??= code
    sendToWorkers(shutdownMessage)
    setTimeout(killWorkers, shutdownGrace * 1_000 + killDelayMs).unref()
    exitAfterLastWorker(exitCode)
  }

  // All workers accept from one socket. If this process handed connections over, one on its way to a
  // worker that dies would stay open here, and its client would wait forever.
  cluster.schedulingPolicy = cluster.SCHED_NONE
  cluster.on('listening', handleListening)
  cluster.on('exit', handleExit)
  onShutdownSignal(() => shutDownWorkers(0), killWorkers)
  onReloadSignal(() => sendToWorkers(reloadMessage))
  cluster.fork()
}

function sendToWorkers(message: string): void {
  for (const worker of liveWorkers()) if (worker.isConnected()) worker.send(message)
}

function exitAfterLastWorker(code: number): void {
  if (liveWorkers().length === 0) process.exit(code)
}

function killWorkers(): void {
  for (const worker of liveWorkers()) worker.process.kill('SIGKILL')
  process.exit(exitCodes.error.code)
}

function liveWorkers(): Worker[] {
  const all = Object.values(cluster.workers ?? {})
  return all.flatMap((worker) => (worker === undefined || worker.isDead() ? [] : [worker]))
}
