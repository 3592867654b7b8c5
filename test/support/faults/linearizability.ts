/**
 * Whether what clients saw of one project can have happened, one thing after the other. The ledger
 * claims an order of all changes; that claim is the witness: each change must have its place in it
 * between its call and its answer, and each list must be the state after one of its events, at a
 * moment between call and answer. (Herlihy and Wing, Linearizability, 1990.)
 */

/** Milliseconds on one clock for all clients. */
interface Span {
  called: number
  /** Infinite where there was no answer: the change may have happened, at any time since. */
  answered: number
}

export interface Write extends Span {
  kid: string
  to: 'active' | 'inactive'
  /** As the answer has it; absent where there was none. */
  requestId?: string
}

export interface Read extends Span {
  /** All keys, or the active ones alone where it is a JWKS. */
  keys: Map<string, boolean>
}

/** The state of a key after an event of the ledger. */
export interface Step {
  requestId: string
  kid: string
  active: boolean
}

export interface History {
  writes: Write[]
  lists: Read[]
  /** May be behind by `lag` milliseconds. */
  published: Read[]
  lag: number
  ledger: Step[]
}

/** The first thing that cannot have happened; undefined where all can. */
export function findViolation(history: History): string | undefined {
  const places = placesOf(history)
  return (
    lostOrReordered(history, places) ??
    impossibleList(history, places) ??
    impossibleKeySet(history, places)
  )
}

/** For each change with an answer and an event: how many events there are up to it. */
type Places = Map<Write, number>

function placesOf({ writes, ledger }: History): Places {
  const revisions = new Map(ledger.map(({ requestId }, index) => [requestId, index + 1]))
  const places: Places = new Map()
  for (const write of writes) {
    const place = revisions.get(write.requestId ?? '')
    if (place !== undefined) places.set(write, place)
  }
  return places
}

function lostOrReordered({ writes, ledger }: History, places: Places): string | undefined {
  const answered = writes.filter((write) => write.requestId !== undefined)
  const created = new Set(ledger.map(({ kid }) => kid))
  for (const { kid } of answered) if (!created.has(kid)) return `the key ${kid} is lost`
  const unclaimed = ledger.length - places.size
  const open = writes.length - answered.length
  if (unclaimed > open) return `the ledger has ${unclaimed} changes that nobody made`
  const inOrder = [...places].toSorted(([, a], [, b]) => a - b)
  let latestCall = Number.NEGATIVE_INFINITY
  for (const [write, place] of inOrder) {
    if (write.answered < latestCall)
      return `change ${place} was answered before an earlier one began`
    latestCall = Math.max(latestCall, write.called)
  }
  return undefined
}

function impossibleList({ lists, ledger }: History, places: Places): string | undefined {
  const states = statesOf(ledger)
  const chosen: { answered: number; place: number }[] = []
  for (const list of lists.toSorted((a, b) => a.answered - b.answered)) {
    const [from, to] = window(places, ledger.length, list, 0)
    const before = chosen.filter(({ answered }) => answered < list.called)
    const least = Math.max(from, ...before.map(({ place }) => place))
    const place = findPlace(states, least, to, (state) => sameKeys(state, list.keys))
    if (place === undefined) return `a list fits no state between changes ${least} and ${to}`
    chosen.push({ answered: list.answered, place })
  }
  return undefined
}

function impossibleKeySet({ published, lag, ledger }: History, places: Places): string | undefined {
  const states = statesOf(ledger)
  for (const read of published) {
    const [from, to] = window(places, ledger.length, read, lag)
    const fits = (state: Map<string, boolean>) => sameKeys(activeOf(state), read.keys)
    if (findPlace(states, from, to, fits) === undefined) {
      return `a JWKS fits no state between changes ${from} and ${to}`
    }
  }
  return undefined
}

/** After which change a read may have looked: after all that were answered, before all not yet begun. */
function window(places: Places, last: number, read: Span, lag: number): [number, number] {
  let from = 0
  let to = last
  for (const [write, place] of places) {
    if (write.answered < read.called - lag) from = Math.max(from, place)
    if (write.called > read.answered) to = Math.min(to, place - 1)
  }
  return [from, to]
}

/** The state before any change, and after each. */
function statesOf(ledger: Step[]): Map<string, boolean>[] {
  const states = [new Map<string, boolean>()]
  for (const { kid, active } of ledger) {
    states.push(new Map(states.at(-1)).set(kid, active))
  }
  return states
}

function findPlace(
  states: Map<string, boolean>[],
  from: number,
  to: number,
  fits: (state: Map<string, boolean>) => boolean,
): number | undefined {
  for (let place = from; place <= to; place += 1) {
    const state = states[place]
    if (state !== undefined && fits(state)) return place
  }
  return undefined
}

function activeOf(state: Map<string, boolean>): Map<string, boolean> {
  return new Map([...state].filter(([, active]) => active))
}

function sameKeys(one: Map<string, boolean>, other: Map<string, boolean>): boolean {
  return one.size === other.size && [...one].every(([kid, active]) => other.get(kid) === active)
}
