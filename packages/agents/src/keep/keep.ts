import type { KeyObject } from 'node:crypto'
import { basename, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type Client, PubringError } from '@pubring/client'
import type { JwsAlgorithm } from '@pubring/intake/algorithms'
import { endType, rotationType } from '@pubring/server/features/keys/kids'
import type { Clock } from '@pubring/server/runtime/clock'
import { AgentError } from '../error.ts'
import { findKeySet } from '../follow/documents.ts'
import { unreadable } from '../follow/source.ts'
import { runCommand } from '../hook.ts'
import { listen } from '../listen.ts'
import { lockFolder } from '../lock.ts'
import { startLoop, withoutRepeats } from '../loop.ts'
import { type Health, keeperMetrics, problemOf, soonMs } from './health.ts'
import { dropNext, type KeptPair, linkTo, note, readKept, switchTo, writeNext } from './kept.ts'
import { newPair, type Pair, pairOf, publicPem, signProof, thumbprintOf } from './pair.ts'

/** Error of a clock that is allowed for, since times of the server come in whole seconds. */
const marginMs = 2_000

/** How often the expiry of the current key is read, which takes an exchange that the ledger records. */
const detailsEveryMs = 6 * 3_600_000

interface KeepOptions {
  dir: string
  /** Base URL of the server. */
  url: string
  /** Id or name. */
  project: string
  /** Undefined with `readFrom`, whose maker decides when a turn begins. */
  everyMs: number | undefined
  lifetimeMs: number
  alg: JwsAlgorithm | undefined
  /** Reads the private key that others make. */
  readFrom: (() => Promise<KeyObject>) | undefined
  exec: string | undefined
  /** Limit for a run of `exec`. */
  timeoutMs: number
  listenAt: { host: string; port: number } | undefined
}

/** A connection to the server, and whether a key of the folder is its only credential. */
export interface Connection {
  client: Client
  /** The time of the server, in milliseconds. */
  now(): number
  isSelf: boolean
}

export interface KeepContext {
  clock: Clock
  signal: AbortSignal
  report(message: string): void
  /**
   * With `prove`, by the rotation tokens that it signs, unless the workload has a token of its own; without,
   * by the API key or that token. Throws if there is none.
   */
  connect(prove?: () => Promise<string>): Connection
  /** Lets keys of the project vouch for others, or says who can. */
  allowSelfRotation(connection: Connection, projectId: string): Promise<void>
  /** Says what a failed request means for the user. */
  explain(error: unknown): string
}

/** The step that was done last is followed by this one. */
interface Upcoming {
  step: 'announce' | 'end' | 'register' | 'switch' | 'turn'
  inMs: number
}

/** Does all that is due, waiting where it must. Rejects unless all of it succeeds. */
export async function keepOnce(options: KeepOptions, given: KeepContext): Promise<void> {
  const context = { ...given, report: withoutRepeats(given.report, given.clock) }
  const unlock = await lock(options, context)
  try {
    const step = createKeeper(options, context, {})
    for (let next = await step(); next.step !== 'turn' || next.inMs <= 0; next = await step()) {
      await delay(next.inMs, undefined, { signal: context.signal })
    }
  } finally {
    unlock()
  }
}

/** Keeps the key until the signal is aborted. Reports problems, and retries. */
export async function keepUntilAborted(options: KeepOptions, given: KeepContext): Promise<void> {
  const { clock, signal, explain } = given
  const context = { ...given, report: withoutRepeats(given.report, clock) }
  const health: Health = { waitsFor: join(options.dir, 'current.jwk') }
  const listener =
    options.listenAt &&
    (await listen(options.listenAt, {
      problem: () => problemOf(health, clock),
      metrics: () => keeperMetrics(health, clock),
    }))
  if (listener !== undefined) context.report(`Health and metrics are at ${listener.url}.`)
  let unlock: (() => void) | undefined
  try {
    unlock = await lock(options, context)
    delete health.waitsFor
    const step = createKeeper(options, context, health)
    const run = async () => {
      const { step: name, inMs } = await step()
      health.next = { step: name, at: clock.now() + inMs }
      return inMs
    }
    const onFailure = (error: unknown, pauseMs: number) => {
      if (signal.aborted) return
      if (error instanceof AgentError && error.kind === 'usage') throw error
      health.errorAt = clock.now()
      const danger = problemOf(health, clock)
      const outlook = danger ? `Danger: ${danger}.` : 'The current key goes on.'
      context.report(`${explain(error)} ${outlook} Trying again in ${pauseMs / 1_000} s.`)
    }
    await startLoop(run, { signal, onFailure }).ended
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    listener?.close()
    unlock?.()
  }
}

async function lock({ dir }: KeepOptions, { signal, report }: KeepContext): Promise<() => void> {
  const onWait = () => report(`Another process keeps ${dir}: waiting until it ends.`)
  try {
    return await lockFolder(dir, { signal, onWait })
  } catch (error) {
    if (signal.aborted) throw error
    const reason = error instanceof Error ? error.message : String(error)
    const advice = 'It must be writable, on a file system that has POSIX locks.'
    throw new AgentError('error', `${dir} cannot be locked (${reason}). ${advice}`)
  }
}

/**
 * A function that does the first step that is due, and returns when the next one is. All it needs is in
 * the folder and the registry, and each step can be repeated, so that it may be killed at any point. Long
 * because its functions share the connections.
 */
function createKeeper(options: KeepOptions, context: KeepContext, health: Health) {
  const { dir, everyMs, lifetimeMs, alg, readFrom, exec } = options
  const { clock, report } = context
  /** Its credential is never asked for: for public operations, and for the server's time. */
  const open = context.connect(async () => '')
  let detailsAt = Number.NEGATIVE_INFINITY
  /** The least time between two keys; 0 before the first look. */
  let leastMs = 0
  let connected: { as: string; connection: Connection } | undefined

  /** Reads the public documents, and notes the state of the current key. */
  async function look(current: KeptPair | undefined) {
    const { project, url } = options
    const query = { url, signal: context.signal, waitSeconds: 0, known: undefined }
    const found = await findKeySet(project, query).catch((error) => {
      throw unreadable(project, error)
    })
    const { response, projectId, keys = [] } = found
    requireRoom((response.maxAge + 1) * 1_000 + lifetimeMs)
    health.isActive = current === undefined || keys.some(({ kid }) => kid === current.kid)
    const { issuer } = await open.client.jwks.discovery(projectId)
    if (current !== undefined && health.isActive) await readEnd(current, projectId, issuer)
    return { keys, projectId, issuer }
  }
  /** Throws if `--every` is too short from the start; a keeper that runs goes on with the least time. */
  function requireRoom(neededMs: number): void {
    const isFirst = leastMs === 0
    leastMs = neededMs
    if (everyMs === undefined || everyMs >= leastMs) return
    const reason = 'max-age of the key set, --token-lifetime and a second'
    const message = `--every must be at least ${leastMs / 1_000}s: ${reason}.`
    if (isFirst) throw new AgentError('usage', message)
    report(`${message} The keeper uses that time.`)
  }
  /** Notes the expiry of the current key now and then. */
  async function readEnd(current: KeptPair, projectId: string, issuer: string): Promise<void> {
    if (clock.monotonic() - detailsAt <= detailsEveryMs) return
    try {
      const { client } = await connectAs(current, current, issuer)
      health.expireTime = (await client.keys.get(projectId, current.kid)).expireTime
      detailsAt = clock.monotonic()
    } catch (error) {
      // The next turn would fail too, but is not due yet.
      report(context.explain(error))
    }
  }
  /** The connection of a turn: the current key vouches for the next one while it is active. */
  async function connectAs(current: KeptPair | undefined, next: Pair, issuer: string) {
    const jkt = await thumbprintOf(next)
    const voucher = health.isActive ? current : undefined
    const as = `${voucher?.kid} ${jkt}`
    if (connected?.as === as) return connected.connection
    const prove =
      voucher &&
      (() => signProof(voucher, rotationType, { issuer, nowMs: open.now(), cnf: { jkt } }))
    connected = { as, connection: context.connect(prove) }
    return connected.connection
  }
  /** Everything after the replacement of `current.jwk`, before the old key may end. */
  async function announce(current: KeptPair, next: Pair | undefined): Promise<Upcoming> {
    await look(current)
    await switchTo(dir, current, [])
    await linkTo(dir, current)
    if (next?.kid === current.kid) await dropNext(dir)
    const variables = { KEY_DIR: dir, KEY_KID: current.kid }
    const failure = exec && (await runCommand({ ...options, command: exec }, variables))
    if (failure) throw new AgentError('error', `--exec ${failure}.`)
    await note(dir, current, 'since', new Date(open.now()).toISOString())
    report(`The key ${current.kid} signs.`)
    return { step: 'end', inMs: 0 }
  }
  /**
   * Sets the end of an old key in advance: it counts whether or not this process is there then. The time is
   * the server's, and counts from now on, so that a clock that is set does not shorten it.
   */
  async function end(old: KeptPair, current: KeptPair): Promise<Upcoming> {
    const { projectId, issuer } = await look(current)
    const nowMs = open.now()
    const expireTime = new Date(nowMs + lifetimeMs + marginMs).toISOString()
    const token = await signProof(old, endType, { issuer, nowMs, sub: old.kid, expireTime })
    const ended = await open.client.keys.end(projectId, old.kid, token).catch((error) => {
      if (error instanceof PubringError && error.code === 'key_not_found') return { expireTime }
      throw error
    })
    await note(dir, old, 'ended', ended.expireTime)
    report(`The old key ${old.kid} ends at ${ended.expireTime}.`)
    return { step: 'turn', inMs: 0 }
  }
  /** Begins a turn if it is time. */
  async function begin(current: KeptPair | undefined): Promise<Upcoming> {
    await look(current)
    const made = readFrom && pairOf(await readFrom(), alg)
    const inMs = current === undefined ? 0 : await dueIn(current, made)
    if (inMs > 0) return { step: 'turn', inMs }
    const next = made ?? (await newPair(alg ?? current?.alg ?? 'ES256'))
    await writeNext(dir, next)
    return register(next, current)
  }
  async function dueIn(current: KeptPair, made: Pair | undefined): Promise<number> {
    if (made !== undefined) {
      const isSame = (await thumbprintOf(made)) === (await thumbprintOf(current))
      return isSame ? Infinity : 0
    }
    if (health.isActive === false) return 0
    const dueAt = Date.parse(current.since ?? '') + Math.max(everyMs ?? Infinity, leastMs)
    const { expireTime = '' } = health
    const endsAt = expireTime === '' ? Infinity : Date.parse(expireTime) - soonMs
    return Math.min(dueAt, endsAt) - open.now()
  }
  async function register(next: Pair, current: KeptPair | undefined): Promise<Upcoming> {
    const { projectId, issuer, keys } = await look(current)
    const jkt = await thumbprintOf(next)
    const thumbprints = await Promise.all(keys.map(thumbprintOf))
    const published = keys[thumbprints.indexOf(jkt)]?.kid
    const kid = published ?? (await create())
    await writeNext(dir, { ...next, kid })
    report(`The key ${kid} is registered.`)
    return { step: 'switch', inMs: 0 }

    async function create(): Promise<string> {
      const connection = await connectAs(current, next, issuer)
      const { client, isSelf } = connection
      if (current === undefined) await context.allowSelfRotation(connection, projectId)
      const publicKeyPem = publicPem(next)
      const date = new Date(connection.now()).toISOString().slice(0, 10)
      const proof = { issuer, nowMs: open.now(), cnf: { jkt } }
      const body = {
        name: `${basename(dir)} (${date})`,
        algorithm: next.alg,
        publicKeyPem,
        ...(isSelf && { proof: await signProof(next, rotationType, proof) }),
      }
      const known = (await client.keys.list(projectId)).find(
        (key) => key.publicKeyPem === publicKeyPem,
      )
      if (known?.active === false) {
        await dropNext(dir)
        throw new AgentError('error', `The next key ${known.id} is registered, but not active.`)
      }
      const id = known?.id ?? (await client.keys.create(projectId, body)).kid
      return (await client.keys.get(projectId, id)).details.publishedKid ?? id
    }
  }
  /** Waits until every verifier knows the next key, as the server says, and replaces the current one. */
  async function takeOver(
    next: KeptPair,
    { current, old }: { current?: KeptPair; old: KeptPair[] },
  ): Promise<Upcoming> {
    const { projectId, issuer } = await look(current)
    const { client, now } = await connectAs(current, next, issuer)
    const { active, details, expireTime } = await client.keys.get(projectId, next.kid)
    if (!active || details.state === 'compromised') {
      await dropNext(dir)
      throw new AgentError('error', `The next key ${next.kid} was ended before its turn.`)
    }
    if (details.state === 'spreading') {
      const leftMs = Date.parse(details.convergedTime) - now()
      return { step: 'switch', inMs: Math.max(100, leftMs) }
    }
    await switchTo(dir, next, old)
    Object.assign(health, { current: next, isActive: true, expireTime })
    detailsAt = clock.monotonic()
    return { step: 'announce', inMs: 0 }
  }
  return async (): Promise<Upcoming> => {
    const { current, next, old } = await readKept(dir)
    health.current = current
    const unended = old.find(({ ended }) => ended === undefined)
    if (current !== undefined && current.since === undefined) return announce(current, next)
    if (current !== undefined && unended !== undefined) return end(unended, current)
    if (next === undefined) return begin(current)
    const { kid } = next
    if (kid === undefined) return register(next, current)
    return takeOver({ ...next, kid }, { ...(current && { current }), old })
  }
}
