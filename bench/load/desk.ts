import type { PreparedCall } from './answer.ts'
import type { Lane } from './lane.ts'
import type { LoadTask } from './task.ts'

/** Milliseconds without any answer after which a run is spoiled. */
const patience = 10_000

/** Hands out the requests to the connections, and notes what came of them. */
export interface Desk {
  /** Of each answered request, in milliseconds. */
  times: number[]
  bodies: string[]
  /** Resolves when nothing is under way any more; rejects where an answer was wrong, or none came. */
  drained: Promise<void>
  begin(lanes: readonly Lane[]): void
  answered(lane: Lane, body: () => string): void
  spoiled(why: string): void
  /** No more requests. */
  stop(): void
}

export function createDesk(calls: readonly PreparedCall[], task: LoadTask): Desk {
  const { seconds, rate, keepBodies } = task
  const { promise: drained, resolve, reject } = Promise.withResolvers<void>()
  const spoiled = (why: string) => reject(new Error(why))
  const watch = watchdog(spoiled)
  drained.then(watch.end, watch.end)
  const [times, bodies]: [number[], string[]] = [[], []]
  const idle: Lane[] = []
  /** Moments at which a request should have been made that is not made yet. */
  const due: number[] = []
  /** Since when each connection waits. */
  const asked = new Map<Lane, number>()
  let made = 0
  let stopped = false

  function next(lane: Lane, since: number | undefined): void {
    const over = stopped || (seconds === undefined && made === calls.length)
    const call = calls[made % calls.length]
    if (!over && since !== undefined && call !== undefined) {
      made += 1
      asked.set(lane, since)
      lane.send(call)
      return
    }
    idle.push(lane)
    if (over && asked.size === 0) resolve()
  }
  function becameDue(moment: number): void {
    const lane = idle.pop()
    if (lane === undefined) due.push(moment)
    else next(lane, moment)
  }
  return {
    times,
    bodies,
    drained,
    spoiled,
    begin(lanes) {
      watch.feed()
      if (rate === undefined) for (const lane of lanes) next(lane, performance.now())
      else {
        idle.push(...lanes)
        keepPace(rate, becameDue, () => stopped)
      }
    },
    answered(lane, body) {
      const now = watch.feed()
      times.push(now - (asked.get(lane) ?? now))
      asked.delete(lane)
      if (keepBodies) bodies.push(body())
      next(lane, rate === undefined ? now : due.shift())
    },
    stop() {
      stopped = true
      if (asked.size === 0) resolve()
    },
  }
}

/** Tells of moments at even distances. It never sleeps: a timer would be late by a millisecond. */
function keepPace(rate: number, tell: (moment: number) => void, isOver: () => boolean): void {
  const began = performance.now()
  const distance = 1_000 / rate
  let told = 0
  const look = () => {
    if (isOver()) return
    const now = performance.now()
    for (; began + told * distance <= now; told += 1) tell(began + told * distance)
    setImmediate(look)
  }
  look()
}

/** Tells where it has not been fed for too long. */
function watchdog(tell: (why: string) => void) {
  let fed = performance.now()
  const timer = setInterval(() => {
    if (performance.now() - fed > patience) tell('no answer came for 10 seconds')
  }, 1_000)
  return {
    feed() {
      fed = performance.now()
      return fed
    },
    end: () => clearInterval(timer),
  }
}
