import type { KeyObject } from 'node:crypto'
import { basename, join } from 'node:path'
import { type Client, PubringError } from '@pubring/client'
import type { JwsAlgorithm } from '@pubring/intake/algorithms'
import { endType, rotationType } from '@pubring/server/features/keys/kids'
import type { Clock } from '@pubring/server/runtime/clock'
import { calculateJwkThumbprint as thumbprintOf } from 'jose'
import { AgentError } from '../error.ts'
import { findKeySet } from '../follow/documents.ts'
import type { PublishedKey } from '../follow/published-keys.ts'
import { unreadable } from '../follow/source.ts'
import { hookTimeoutMs, runCommand } from '../hook.ts'
import { listen } from '../listen.ts'
import { lockFolder } from '../lock.ts'
import { startLoop, withoutRepeats } from '../loop.ts'
import { type Health, keeperMetrics, problemOf, soonMs } from './health.ts'
import { type Kept, type KeptPair, linkTo, note, putNext, readKept, switchTo } from './kept.ts'
import { newPair, type Pair, pairOf, privateKeyOf, publicPem, signProof } from './pair.ts'

/** Error of a clock that is allowed for, since times of the server come in whole seconds. */
const marginMs = 2_000

/** How often the expiry of the current key is read, which takes an exchange that the ledger records. */
const endEveryMs = 6 * 3_600_000

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
  listenAt: { host: string; port: number } | undefined
  /** Do all that is due, and end. */
  once: boolean
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

/**
 * Keeps the key until the signal is aborted; reports problems, and retries. With `once`, does all that is
 * due, waiting where it must, and rejects unless all of it succeeds.
 */
export async function keep(options: KeepOptions, given: KeepContext): Promise<void> {
  const { dir, listenAt, once } = options
  const { clock, signal, explain } = given
  const context = { ...given, report: withoutRepeats(given.report, clock) }
  const health: Health = { waitsFor: join(dir, 'current.jwk') }
  const served = {
    problem: () => problemOf(health, clock),
    metrics: () => keeperMetrics(health, clock),
  }
  const listener = listenAt && (await listen(listenAt, served))
  if (listener !== undefined) context.report(`Health and metrics are at ${listener.url}.`)
  let unlock = () => {}
  try {
    unlock = await lockFolder(dir, context)
    delete health.waitsFor
    const step = createKeeper(options, context, health)
    const run = async () => {
      const [name, inMs] = await step()
      health.next = { step: name, at: clock.now() + inMs }
      return once && name === 'turn' && inMs > 0 ? undefined : inMs
    }
    const onFailure = (error: unknown, pauseMs: number) => {
      if (signal.aborted) return
      if (once || (error instanceof AgentError && error.kind === 'usage')) throw error
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
    unlock()
  }
}

/** The step that was done last is followed by this one. */
type Upcoming = [step: 'announce' | 'end' | 'register' | 'switch' | 'turn', inMs: number]

/** All that a step needs to know. */
interface Found extends Kept {
  projectId: string
  issuer: string
  /** The published keys of the project. */
  keys: PublishedKey[]
}

/**
 * A function that does the first step that is due, and returns when the next one is. All it needs is in
 * the folder and the registry, and each step can be repeated, so that it may be killed at any point. Long
 * because its functions share the connections.
 */
function createKeeper(options: KeepOptions, context: KeepContext, health: Health) {
  const { dir, project, url, everyMs, lifetimeMs, alg, readFrom, exec } = options
  const { clock, report, signal } = context
  /** Its credential is never asked for: for public operations, and for the server's time. */
  const open = context.connect(async () => '')
  let endReadAt = Number.NEGATIVE_INFINITY
  /** The least time between two keys; 0 before the first look. */
  let leastMs = 0
  let connected: { as: string; connection: Connection } | undefined

  /** Reads the folder and the public documents, and notes the state of the current key. */
  async function look(): Promise<Found> {
    const kept = await readKept(dir)
    const { current } = kept
    health.current = current
    const query = { url, signal, waitSeconds: 0, known: undefined }
    const {
      response,
      projectId,
      keys = [],
    } = await findKeySet(project, query).catch((error) => {
      throw unreadable(project, error)
    })
    requireRoom((response.maxAge + 1) * 1_000 + lifetimeMs)
    health.isActive = current === undefined || keys.some(({ kid }) => kid === current.kid)
    const { issuer } = await open.client.jwks.discovery(projectId)
    const found = { ...kept, projectId, issuer, keys }
    if (current !== undefined && health.isActive) await readEnd(found, current)
    return found
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
  async function readEnd(found: Found, { jwk, kid }: KeptPair): Promise<void> {
    if (clock.monotonic() - endReadAt <= endEveryMs) return
    try {
      const { client } = await connectAs(found, jwk)
      health.expireTime = (await client.keys.get(found.projectId, kid)).expireTime
      endReadAt = clock.monotonic()
    } catch (error) {
      // The next turn would fail too, but is not due yet.
      report(context.explain(error))
    }
  }
  /** The connection of a turn: the current key vouches for the next one while it is active. */
  async function connectAs({ current, issuer }: Found, next: Pair): Promise<Connection> {
    const cnf = { jkt: await thumbprintOf(next) }
    const voucher = health.isActive ? current : undefined
    const as = `${voucher?.kid} ${cnf.jkt}`
    if (connected?.as === as) return connected.connection
    const prove =
      voucher && (() => signProof(voucher.jwk, rotationType, { issuer, nowMs: open.now(), cnf }))
    connected = { as, connection: context.connect(prove) }
    return connected.connection
  }
  /** Everything after the replacement of `current.jwk`, before the old key may end. */
  async function announce(current: KeptPair, next: Pair | undefined): Promise<Upcoming> {
    await linkTo(dir, current)
    if (next?.kid === current.kid) await putNext(dir, undefined)
    const env = { KEY_DIR: dir, KEY_KID: current.kid }
    const failure = exec && (await runCommand({ command: exec, timeoutMs: hookTimeoutMs }, env))
    if (failure) throw new AgentError('error', `--exec ${failure}.`)
    await note(dir, current, 'since', new Date(open.now()).toISOString())
    report(`The key ${current.kid} signs.`)
    return ['end', 0]
  }
  /**
   * Sets the end of an old key in advance: it counts whether or not this process is there then. The time is
   * the server's, and counts from now on, so that a clock that is set does not shorten it.
   */
  async function end({ projectId, issuer }: Found, old: KeptPair): Promise<Upcoming> {
    const nowMs = open.now()
    const expireTime = new Date(nowMs + lifetimeMs + marginMs).toISOString()
    const claims = { sub: old.kid, expireTime, reason: 'superseded' }
    const token = await signProof(old.jwk, endType, { issuer, nowMs, ...claims })
    const ended = await open.client.keys.end(projectId, old.kid, token).catch((error) => {
      if (error instanceof PubringError && error.code === 'key_not_found') return { expireTime }
      throw error
    })
    await note(dir, old, 'ended', ended.expireTime)
    report(`The old key ${old.kid} ends at ${ended.expireTime}.`)
    return ['turn', 0]
  }
  /** Begins a turn if it is time. */
  async function begin(found: Found): Promise<Upcoming> {
    const made = readFrom && pairOf(await readFrom(), alg)
    const inMs = await dueIn(found, made)
    if (inMs > 0) return ['turn', inMs]
    const next = made ?? (await newPair(alg ?? found.current?.jwk.alg ?? 'ES256'))
    await putNext(dir, next)
    return register(found, next)
  }
  async function dueIn({ current }: Found, made: Pair | undefined): Promise<number> {
    if (current === undefined) return 0
    if (made !== undefined) {
      return (await thumbprintOf(made)) === (await thumbprintOf(current.jwk)) ? Infinity : 0
    }
    if (!health.isActive) return 0
    const dueAt = Date.parse(current.since ?? '') + Math.max(everyMs ?? Infinity, leastMs)
    const endsAt = health.expireTime ? Date.parse(health.expireTime) - soonMs : Infinity
    return Math.min(dueAt, endsAt) - open.now()
  }
  async function register(found: Found, next: Pair): Promise<Upcoming> {
    const { keys } = found
    const thumbprints = await Promise.all(keys.map(({ jwk }) => thumbprintOf(jwk)))
    const published = keys[thumbprints.indexOf(await thumbprintOf(next))]?.kid
    const kid = published ?? (await create(found, next))
    await putNext(dir, { ...next, kid })
    report(`The key ${kid} is registered.`)
    return takeOver(found, { kid, jwk: { ...next, kid } })
  }
  /** Registers the key, unless an earlier attempt has. Returns its kid. */
  async function create(found: Found, next: Pair): Promise<string> {
    const { current, projectId, issuer } = found
    const connection = await connectAs(found, next)
    const { client, isSelf } = connection
    if (current === undefined) await context.allowSelfRotation(connection, projectId)
    const cnf = { jkt: await thumbprintOf(next) }
    const proof =
      isSelf && (await signProof(next, rotationType, { issuer, nowMs: open.now(), cnf }))
    const body = {
      name: `${basename(dir)} (${new Date(connection.now()).toISOString().slice(0, 10)})`,
      algorithm: next.alg,
      publicKeyPem: publicPem(privateKeyOf(next)),
      ...(proof && { proof }),
    }
    const { kid } = await client.keys.create(projectId, body).catch((error) => {
      const twin = error instanceof PubringError ? error.problem?.kid : undefined
      if (twin === undefined) throw error
      return { kid: twin }
    })
    return (await client.keys.get(projectId, kid)).details.publishedKid ?? kid
  }
  /** Waits until every verifier knows the next key, as the server says, and replaces the current one. */
  async function takeOver(found: Found, next: KeptPair): Promise<Upcoming> {
    const { client, now } = await connectAs(found, next.jwk)
    const { active, details, expireTime } = await client.keys.get(found.projectId, next.kid)
    if (!active || details.state === 'compromised') {
      await putNext(dir, undefined)
      const message = `The next key ${next.kid} is registered, but not active: it ended before its turn.`
      throw new AgentError('error', message)
    }
    if (details.state === 'spreading') {
      return ['switch', Math.max(100, Date.parse(details.convergedTime) - now())]
    }
    await switchTo(dir, next, found.old)
    Object.assign(health, { current: next, isActive: true, expireTime })
    endReadAt = clock.monotonic()
    return ['announce', 0]
  }
  return async (): Promise<Upcoming> => {
    const found = await look()
    const { current, next, old } = found
    const unended = old.find(({ ended }) => ended === undefined)
    if (current !== undefined && current.since === undefined) return announce(current, next)
    if (current !== undefined && unended !== undefined) return end(found, unended)
    if (next === undefined) return begin(found)
    const { kid } = next
    return kid === undefined ? register(found, next) : takeOver(found, { kid, jwk: next })
  }
}
