import type { Connection } from './connection.ts'
import type { PreparedCall } from './response.ts'
import type { LoadTask } from './task.ts'

/** Without any response for this long, the run fails. */
const responseTimeoutMs = 10_000

/** Distance of requests from which timers are exact enough to pace them. */
const timerIntervalMs = 4

/** Assigns requests to free connections and records their latencies. */
export interface Dispatcher {
  /** The latency of each answered request, in milliseconds. */
  latencies: number[]
  bodies: string[]
  /** Resolves when no request is in flight; rejects if a response was wrong or none arrived. */
  drained: Promise<void>
  start(connections: readonly Connection[]): void
  onResponse(connection: Connection, body: () => string): void
  onFailure(reason: string): void
  /** Sends no more requests. */
  stop(): void
}

// Long because its functions share the queue of idle connections and due requests.
export function createDispatcher(calls: readonly PreparedCall[], task: LoadTask): Dispatcher {
  const { seconds, rate, keepBodies } = task
  const { promise: drained, resolve, reject } = Promise.withResolvers<void>()
  const onFailure = (reason: string) => reject(new Error(reason))
  const watchdog = startWatchdog(onFailure)
  drained.then(watchdog.stop, watchdog.stop)
  const [latencies, bodies]: [number[], string[]] = [[], []]
  const idle: Connection[] = []
  /** Times at which requests were due that wait for a free connection. */
  const overdue: number[] = []
  /** Start of the request in flight on each connection. */
  const inFlight = new Map<Connection, number>()
  let sent = 0
  let stopped = false

  function send(connection: Connection, since: number | undefined): void {
    const finished =
      stopped || (seconds === undefined && rate === undefined && sent === calls.length)
    const call = calls[sent % calls.length]
    if (!finished && since !== undefined && call !== undefined) {
      sent += 1
      inFlight.set(connection, since)
      connection.send(call)
      return
    }
    idle.push(connection)
    if (finished && inFlight.size === 0) resolve()
  }
  function onDue(time: number): void {
    const connection = idle.pop()
    if (connection === undefined) overdue.push(time)
    else send(connection, time)
  }
  return {
    latencies,
    bodies,
    drained,
    onFailure,
    start(connections) {
      watchdog.reset()
      if (rate === undefined) {
        for (const connection of connections) send(connection, performance.now())
      } else {
        idle.push(...connections)
        pace(1_000 / rate, onDue, () => stopped)
      }
    },
    onResponse(connection, body) {
      const now = watchdog.reset()
      latencies.push(now - (inFlight.get(connection) ?? now))
      inFlight.delete(connection)
      if (keepBodies) bodies.push(body())
      send(connection, rate === undefined ? now : overdue.shift())
    },
    stop() {
      stopped = true
      if (inFlight.size === 0) resolve()
    },
  }
}

/**
 * Calls `onDue` at even distances. Short ones are kept by polling, since a timer would be late by a
 * millisecond; long ones by timers, which leave the processor to the server.
 */
function pace(interval: number, onDue: (time: number) => void, isOver: () => boolean): void {
  const start = performance.now()
  let ticks = 0
  const usesTimer = interval >= timerIntervalMs
  const tick = () => {
    if (isOver()) return
    const now = performance.now()
    for (; start + ticks * interval <= now; ticks += 1) {
      onDue(usesTimer ? now : start + ticks * interval)
    }
    if (usesTimer) setTimeout(tick, start + ticks * interval - now)
    else setImmediate(tick)
  }
  tick()
}

function startWatchdog(onFailure: (reason: string) => void) {
  let last = performance.now()
  const timer = setInterval(() => {
    if (performance.now() - last > responseTimeoutMs) onFailure('no response for 10 seconds')
  }, 1_000)
  return {
    reset() {
      last = performance.now()
      return last
    },
    stop: () => clearInterval(timer),
  }
}
