/**
 * Checks that a history of requests to one project is linearizable (Herlihy and Wing, 1990). The
 * ledger's order of changes is the witness: each change must take effect in this order between its
 * call and its response, and each list must equal the state after one of the events, at a time between
 * its call and its response.
 */

/** Milliseconds of one clock that all clients share. */
interface Span {
  called: number
  /** Infinite without a response: the change may take effect at any time, or never. */
  answered: number
}

export interface Write extends Span {
  kid: string
  to: 'active' | 'inactive'
  /** Absent without a response. */
  requestId?: string
}

export interface Read extends Span {
  /** All keys of a list, or the active keys of a JWKS. */
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
  /** Key sets, which may be up to `lag` milliseconds old. */
  published: Read[]
  lag: number
  ledger: Step[]
}

/** The first observation that is impossible; undefined if there is none. */
export function findViolation(history: History): string | undefined {
  const places = placesOf(history)
  return (
    lostOrReordered(history, places) ??
    impossibleList(history, places) ??
    impossibleKeySet(history, places)
  )
}

/** The position in the ledger of each change with a response and an event. */
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
  if (unclaimed > open) return `the ledger has ${unclaimed} changes that no client made`
  const inOrder = [...places].toSorted(([, a], [, b]) => a - b)
  let latestCall = Number.NEGATIVE_INFINITY
  for (const [write, place] of inOrder) {
    if (write.answered < latestCall)
      return `change ${place} was acknowledged before an earlier one was sent`
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
    if (place === undefined) return `a list matches no state between changes ${least} and ${to}`
    chosen.push({ answered: list.answered, place })
  }
  return undefined
}

function impossibleKeySet({ published, lag, ledger }: History, places: Places): string | undefined {
  const states = statesOf(ledger)
  for (const read of published) {
    const [from, to] = window(places, ledger.length, read, lag)
    const matches = (state: Map<string, boolean>) => sameKeys(activeOf(state), read.keys)
    if (findPlace(states, from, to, matches) === undefined) {
      return `a JWKS matches no state between changes ${from} and ${to}`
    }
  }
  return undefined
}

/** The range of states that a read may return: after all acknowledged changes, before all unsent ones. */
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
  matches: (state: Map<string, boolean>) => boolean,
): number | undefined {
  for (let place = from; place <= to; place += 1) {
    const state = states[place]
    if (state !== undefined && matches(state)) return place
  }
  return undefined
}

function activeOf(state: Map<string, boolean>): Map<string, boolean> {
  return new Map([...state].filter(([, active]) => active))
}

function sameKeys(one: Map<string, boolean>, other: Map<string, boolean>): boolean {
  return one.size === other.size && [...one].every(([kid, active]) => other.get(kid) === active)
}
