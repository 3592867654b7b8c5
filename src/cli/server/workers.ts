import cluster, { type Worker } from 'node:cluster'
import process from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import type { Config } from '../../config/server-settings.ts'
import { prepareRegistry } from '../../core/first-start.ts'
import { collectStartupGarbage } from '../../runtime/startup-garbage.ts'
import { writeError } from '../terminal/output.ts'
import { listenForMetrics, openRegistry } from './instance.ts'
import { endMessage, whenTold } from './shutdown.ts'
import { announce, announceLoss } from './welcome.ts'
import { gatherMetrics } from './worker-metrics.ts'

/** Milliseconds that a worker must have listened: one that ends earlier has failed to start. */
const trial = 1_000

/** Workers in a row that may fail to start before the parent gives up. */
const maxFailures = 5

/** Milliseconds between the failure of a worker and the next attempt, at most. */
const longestPause = 5_000

/** Milliseconds that workers get beyond the grace of their shutdown before they are killed. */
const overtime = 1_000

/**
 * Runs the configured number of processes on the one port. This one serves nothing: it
 * replaces those that die, and ends when all have ended. The first start of a registry happens here,
 * once.
 */
export async function superviseWorkers(config: Config): Promise<void> {
  const newSecret = await prepareOnce(config)
  try {
    await listenForMetrics(config, gatherMetrics(crew))
  } catch (error) {
    announceLoss(newSecret)
    throw error
  }
  await collectStartupGarbage()
  superviseCrew(config, {
    ready: () => announce(config.publicUrl, newSecret),
    failed: () => announceLoss(newSecret),
  })
}

async function prepareOnce(config: Config): Promise<string | undefined> {
  const registry = await openRegistry(config)
  try {
    return (await prepareRegistry(registry.context, config.adminApiKey)).newSecret
  } finally {
    await registry.close()
  }
}

interface Outcomes {
  /** The first worker listens. */
  ready(): void
  /** The first worker could not start, and has said why. */
  failed(): void
}

function superviseCrew({ workers: size, shutdownGrace }: Config, outcomes: Outcomes): void {
  /** Monotonic milliseconds. */
  const listeningSince = new Map<Worker, number>()
  let failures = 0
  let ready = false
  let exitCode: number | undefined

  function listens(worker: Worker): void {
    listeningSince.set(worker, performance.now())
    if (ready) return
    // One goes ahead: what keeps it from starting would keep all, and is said once.
    ready = true
    for (let more = 1; more < size; more += 1) cluster.fork()
    outcomes.ready()
  }
  function ended(worker: Worker, code: number, signal: string): void {
    const since = listeningSince.get(worker)
    listeningSince.delete(worker)
    if (exitCode !== undefined) {
      leave(exitCode)
      return
    }
    if (!ready) {
      outcomes.failed()
      process.exit(code || 1)
    }
    // Killed from outside, it did not fail by itself.
    const held = since !== undefined && (signal === 'SIGKILL' || performance.now() - since >= trial)
    failures = held ? 0 : failures + 1
    void replace(`worker ${worker.process.pid} ended (${signal ?? `exit code ${code}`})`)
  }
  async function replace(what: string): Promise<void> {
    // As long as one serves, be it from memory, there is something to lose by giving up.
    if (failures >= maxFailures && listeningSince.size === 0) {
      writeError(`pubring: ${what}, as those before it did, right after its start: giving up.\n`)
      return end(1)
    }
    writeError(`pubring: ${what}; starting another.\n`)
    if (failures > 0) await delay(Math.min(longestPause, 100 * 2 ** failures))
    if (exitCode === undefined) cluster.fork()
  }
  /** Lets all of them answer what they accepted, then ends this process with the code. */
  function end(code: number): void {
    exitCode ??= code
    for (const worker of crew()) if (worker.isConnected()) worker.send(endMessage)
    setTimeout(kill, shutdownGrace * 1_000 + overtime).unref()
    leave(exitCode)
  }

  // All accept from one socket. Were connections handed over by this process, one that is on its way
  // to a worker that dies would stay open here, and its client would wait for ever.
  cluster.schedulingPolicy = cluster.SCHED_NONE
  cluster.on('listening', listens)
  cluster.on('exit', ended)
  whenTold(() => end(0), kill)
  cluster.fork()
}

/** Ends this process once the last worker is gone. */
function leave(code: number): void {
  if (crew().length === 0) process.exit(code)
}

function kill(): void {
  for (const worker of crew()) worker.process.kill('SIGKILL')
  process.exit(1)
}

function crew(): Worker[] {
  const all = Object.values(cluster.workers ?? {})
  return all.flatMap((worker) => (worker === undefined || worker.isDead() ? [] : [worker]))
}
