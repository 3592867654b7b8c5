/**
 * Checks that a history of requests to one project is linearizable (Herlihy and Wing, 1990). The
 * ledger's order of changes is the witness: each change must take effect in this order between its
 * call and its response, and each read must equal the state after one of the events, at a time between
 * its call and its response.
 */

/** Milliseconds of one clock that all clients share. */
export interface Span {
  called: number
  /** Infinite if the outcome is unknown: the change may take effect at any time, or never. */
  answered: number
}

export type Change = 'create' | 'activate' | 'deactivate' | 'delete'

export interface Write extends Span {
  /** Unknown after a creation with an unknown outcome. */
  kid?: string
  change: Change
  /** Absent without a response of Pubring. */
  requestId?: string
}

/** Pairs of a kid and whether the key is active, as the response lists them. */
export type ListedKeys = [kid: string, active: boolean][]

export interface Read extends Span {
  /** All keys of a list, or the active keys of a JWKS. */
  keys: ListedKeys
  /** The age in milliseconds that a stale key set states, at most. */
  staleMs?: number
}

/** The state of a single key by a response; `active` is undefined if the key does not exist. */
export interface Fact extends Span {
  kid: string
  active: boolean | undefined
}

/** An event of the ledger. */
export interface Step {
  requestId: string
  kid: string
  change: Change
}

export interface History {
  writes: Write[]
  lists: Read[]
  facts: Fact[]
  /** Key sets, which may be up to `lag` milliseconds old, or as old as they say. */
  published: Read[]
  lag: number
  ledger: Step[]
}

/** The keys of the project, and whether they are active. */
type State = Map<string, boolean>

const effects = { create: true, activate: true, deactivate: false, delete: undefined }

/** The first observation that is impossible; undefined if there is none. */
export function findViolation(history: History): string | undefined {
  const invalid = invalidStep(history.ledger)
  if (invalid !== undefined) return invalid
  const places = placesOf(history)
  return (
    lostOrReordered(history, places) ??
    impossibleRead(history, places) ??
    impossibleKeySet(history, places)
  )
}

/** A change that cannot follow those before it. A change that changes nothing has no event. */
function invalidStep(ledger: Step[]): string | undefined {
  const known = new Map<string, boolean | undefined>()
  for (const [index, { kid, change }] of ledger.entries()) {
    const isCreated = known.has(kid)
    if (change === 'create' && isCreated) return `event ${index + 1} creates ${kid} a second time`
    if (change !== 'create' && known.get(kid) === undefined)
      return `event ${index + 1} changes ${kid}, which does not exist`
    if (change !== 'create' && known.get(kid) === effects[change])
      return `event ${index + 1} changes nothing: ${change} of ${kid}`
    known.set(kid, effects[change])
  }
  return undefined
}

/** The place in the ledger of each change that has an event, counted from 1. */
type Places = Map<Write, number>

/**
 * By request id, where there was a response. The other events belong to changes with an unknown
 * outcome: those sent earlier get the earlier events, which never makes a possible history impossible.
 */
function placesOf({ writes, ledger }: History): Places {
  const byRequest = new Map(writes.map((write) => [write.requestId, write]))
  const open = writes
    .filter(({ answered }) => answered === Number.POSITIVE_INFINITY)
    .toSorted((a, b) => a.called - b.called)
  const places: Places = new Map()
  const unclaimed: [Step, number][] = []
  for (const [index, step] of ledger.entries()) {
    const write = byRequest.get(step.requestId)
    if (write === undefined) unclaimed.push([step, index + 1])
    else places.set(write, index + 1)
  }
  for (const [step, place] of unclaimed) {
    const write = open.find((each) => !places.has(each) && isSame(each, step))
    if (write !== undefined) places.set(write, place)
  }
  return places
}

function isSame({ kid, change }: Write, step: Step): boolean {
  return change === step.change && (kid === undefined || kid === step.kid)
}

function lostOrReordered({ writes, ledger }: History, places: Places): string | undefined {
  for (const write of writes) {
    const place = places.get(write)
    const step = ledger[(place ?? 0) - 1]
    if (step !== undefined && !isSame(write, step)) return `event ${place} is not what was asked`
    const mustHaveEvent = write.change === 'create' || write.change === 'delete'
    if (step === undefined && mustHaveEvent && Number.isFinite(write.answered))
      return `the ${write.change} of ${write.kid} is lost`
  }
  if (ledger.length > places.size)
    return `the ledger has ${ledger.length - places.size} changes that no client made`
  let latestCall = Number.NEGATIVE_INFINITY
  for (const [write, place] of [...places].toSorted(([, a], [, b]) => a - b)) {
    if (write.answered < latestCall)
      return `change ${place} was acknowledged before an earlier one was sent`
    latestCall = Math.max(latestCall, write.called)
  }
  return undefined
}

/** Lists and facts, with what an acknowledged change without an event says: it changed nothing. */
function impossibleRead(history: History, places: Places): string | undefined {
  const { writes, lists, facts, ledger } = history
  const unchanged = writes.filter((each) => Number.isFinite(each.answered) && !places.has(each))
  const reads = [
    ...lists.map((list) => ({
      ...list,
      what: 'a list',
      matches: (state: State) => sameKeys(state, list.keys),
    })),
    ...facts.map((fact) => ({
      ...fact,
      what: `a response about ${fact.kid}`,
      matches: (state: State) => state.get(fact.kid) === fact.active,
    })),
    ...unchanged.map((write) => ({
      ...write,
      what: `an acknowledged ${write.change} of ${write.kid}`,
      matches: (state: State) => state.get(write.kid ?? '') === effects[write.change],
    })),
  ].toSorted((a, b) => a.answered - b.answered)
  const states = statesOf(ledger)
  const window = windowsOf(places, ledger.length)
  /** The greatest place that a read has at this time or before. */
  const chosen: { at: number; place: number }[] = []
  for (const { called, answered, what, matches } of reads) {
    const [from, to] = window(called, answered)
    const least = Math.max(from, lastBefore(chosen, called)?.place ?? 0)
    let place = least
    while (place <= to && !matches(states[place] ?? new Map())) place += 1
    if (place > to) return `${what} matches no state between changes ${least} and ${to}`
    chosen.push({ at: answered, place: Math.max(place, chosen.at(-1)?.place ?? 0) })
  }
  return undefined
}

function impossibleKeySet(history: History, places: Places): string | undefined {
  for (const [read, age] of agesOfKeySets(history, places)) {
    if (age === undefined) return `a JWKS matches no state: ${JSON.stringify(read)}`
    if (age > Math.max(history.lag, read.staleMs ?? 0))
      return `a JWKS is ${Math.round(age)} ms behind`
  }
  return undefined
}

/**
 * By how many milliseconds the key sets are behind the acknowledged changes at most: those that say
 * that they are stale, or the others.
 */
export function greatestLag(history: History, kind: 'fresh' | 'stale'): number {
  const published = history.published.filter(
    ({ staleMs }) => (staleMs === undefined) === (kind === 'fresh'),
  )
  const ages = agesOfKeySets({ ...history, published }, placesOf(history))
  return Math.max(0, ...ages.map(([, age]) => age ?? Number.POSITIVE_INFINITY))
}

/** How long before each request the first change was acknowledged that its response lacks. */
function agesOfKeySets(
  { published, ledger }: History,
  places: Places,
): [Read, number | undefined][] {
  const states = statesOf(ledger).map(activeOf)
  const window = windowsOf(places, ledger.length)
  /** For each place: when the first of the changes after it was acknowledged. */
  const acknowledged = Array<number>(ledger.length + 1).fill(Number.POSITIVE_INFINITY)
  for (const [{ answered }, place] of places) acknowledged[place - 1] = answered
  for (let place = ledger.length - 1; place >= 0; place -= 1)
    acknowledged[place] = Math.min(acknowledged[place] ?? 0, acknowledged[place + 1] ?? 0)
  return published.map((read) => {
    let [, place] = window(read.called, read.answered)
    while (place >= 0 && !sameKeys(states[place] ?? new Map(), read.keys)) place -= 1
    if (place < 0) return [read, undefined]
    return [read, Math.max(0, read.called - (acknowledged[place] ?? 0))]
  })
}

/** Finds the range of states that a read may return: after all acknowledged changes, before all unsent ones. */
function windowsOf(places: Places, last: number) {
  const acknowledged: { at: number; place: number }[] = []
  const sent: { at: number; place: number }[] = []
  const byAnswer = [...places].toSorted(([a], [b]) => a.answered - b.answered)
  for (const [{ answered }, place] of byAnswer)
    acknowledged.push({ at: answered, place: Math.max(place, acknowledged.at(-1)?.place ?? 0) })
  const byCall = [...places].toSorted(([a], [b]) => b.called - a.called)
  for (const [{ called }, place] of byCall)
    sent.push({ at: -called, place: Math.min(place, sent.at(-1)?.place ?? last + 1) })
  return (called: number, answered: number): [from: number, to: number] => [
    lastBefore(acknowledged, called)?.place ?? 0,
    (lastBefore(sent, -answered)?.place ?? last + 1) - 1,
  ]
}

/** The last element before the time, of a list in the order of time. */
function lastBefore<Element extends { at: number }>(
  list: Element[],
  time: number,
): Element | undefined {
  let [low, high] = [0, list.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((list[middle]?.at ?? 0) < time) low = middle + 1
    else high = middle
  }
  return list[low - 1]
}

/** The state before any change, and after each. */
function statesOf(ledger: Step[]): State[] {
  const states: State[] = [new Map()]
  for (const { kid, change } of ledger) {
    const state = new Map(states.at(-1))
    const active = effects[change]
    if (active === undefined) state.delete(kid)
    else state.set(kid, active)
    states.push(state)
  }
  return states
}

function activeOf(state: State): State {
  return new Map([...state].filter(([, active]) => active))
}

function sameKeys(state: State, keys: ListedKeys): boolean {
  if (state.size !== keys.length || new Set(keys.map(([kid]) => kid)).size !== keys.length)
    return false
  return keys.every(([kid, active]) => state.get(kid) === active)
}
