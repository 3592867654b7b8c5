import type { KeyObject } from 'node:crypto'
import { basename, join } from 'node:path'
import { type Client, type JwtKeyWithDetails, PubringError } from '@pubring/client'
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
import { handOver, type Kept, type KeptPair, readKept, writeKept } from './kept.ts'
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

export interface Connection {
  client: Client
  /** The time of the server, in milliseconds. */
  now(): number
  /** Whether a key of the folder is the only credential. */
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
  allowSelfRotation(client: Client, projectId: string): Promise<void>
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
  const health: Health = { file: join(dir, 'current.jwk') }
  const problem = () => problemOf(health, clock)
  const metrics = () => keeperMetrics(health, clock)
  const listener = listenAt && (await listen(listenAt, { problem, metrics }))
  if (listener !== undefined) context.report(`Health and metrics are at ${listener.url}.`)
  let unlock = () => {}
  try {
    unlock = await lockFolder(dir, context)
    health.kept = {}
    const onFailure = (error: unknown, pauseMs: number) => {
      if (signal.aborted) return
      if (once || (error instanceof AgentError && error.kind === 'usage')) throw error
      health.errorAt = clock.now()
      const danger = problem()
      const outlook = danger ? `Danger: ${danger}.` : 'The current key goes on.'
      context.report(`${explain(error)} ${outlook} Trying again in ${pauseMs / 1_000} s.`)
    }
    await startLoop(createKeeper(options, context, health), { signal, onFailure }).ended
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    listener?.close()
    unlock()
  }
}

/** All that a step needs to know. */
interface Found {
  kept: Kept
  projectId: string
  issuer: string
  /** The published keys of the project. */
  keys: PublishedKey[]
}

/**
 * A function that does the one step that is due, and returns when the next one is. All that a step needs is
 * in the folder and the registry, and its last action is to note that it is done: killed at any point, it is
 * repeated. Long because its functions share the connections.
 */
function createKeeper(options: KeepOptions, context: KeepContext, health: Health) {
  const { dir, project, url, everyMs, lifetimeMs, alg, readFrom, exec, once } = options
  const { clock, report, signal } = context
  /** Its credential is never asked for: for public operations, and for the server's time. */
  const open = context.connect(async () => '')
  let endReadAt = Number.NEGATIVE_INFINITY
  /** The least time between two keys; 0 before the first look. */
  let leastMs = 0
  let connected: ({ as: string; vouch(signer: Pair): Promise<string> } & Connection) | undefined

  /** Reads the folder and the public documents, and notes the state of the current key. */
  async function look(): Promise<Found> {
    const kept = await readKept(dir)
    const { current, since } = kept
    health.kept = kept
    // Restores files of the signer that were removed, whether or not Pubring can be reached.
    if (current !== undefined && since !== undefined) await handOver(dir, current)
    const query = { url, signal, waitSeconds: 0, known: undefined }
    const found = await findKeySet(project, query).catch((error) => {
      throw unreadable(project, error)
    })
    const { response, projectId, keys = [] } = found
    requireRoom((response.maxAge + 1) * 1_000 + lifetimeMs)
    const isActive = current === undefined || keys.some(({ kid }) => kid === current.kid)
    health.isActive = isActive
    const { issuer } = await open.client.jwks.discovery(projectId)
    const all = { kept, projectId, issuer, keys }
    if (current !== undefined && isActive) await readEnd(all, current)
    return all
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
  /** Notes the expiry of the current key now and then, and whether others have it. */
  async function readEnd(found: Found, current: KeptPair): Promise<void> {
    if (clock.monotonic() - endReadAt <= endEveryMs) return
    try {
      const { client } = await connectAs(found, current)
      const { expireTime, details } = await client.keys.get(found.projectId, current.kid)
      Object.assign(health, { expireTime, isCompromised: details.state === 'compromised' })
      endReadAt = clock.monotonic()
    } catch (error) {
      // The next turn would fail too, but is not due yet.
      report(context.explain(error))
    }
  }
  /** The connection of a turn: the current key vouches for the next one while it is active. */
  async function connectAs({ kept, issuer }: Found, next: Pair) {
    const cnf = { jkt: await thumbprintOf(next) }
    const vouch = (signer: Pair) =>
      signProof(signer, rotationType, { issuer, nowMs: open.now(), cnf })
    const voucher = health.isActive ? kept.current : undefined
    const as = `${voucher?.kid} ${cnf.jkt}`
    if (connected?.as === as) return connected
    connected = { as, vouch, ...context.connect(voucher && (() => vouch(voucher))) }
    return connected
  }
  /** Begins a turn if it is time. */
  async function begin(found: Found): Promise<number | undefined> {
    const { kept } = found
    const made = readFrom && pairOf(await readFrom(), alg)
    const inMs = await dueIn(kept, made)
    if (inMs > 0) return once ? undefined : wait('turn', inMs)
    const next = made ?? (await newPair(alg ?? kept.current?.alg ?? 'ES256'))
    await writeKept(dir, { ...kept, next })
    return register(found, next)
  }
  async function dueIn({ current, since = '' }: Kept, made: Pair | undefined): Promise<number> {
    if (current === undefined) return 0
    if (made !== undefined) {
      if ((await thumbprintOf(made)) !== (await thumbprintOf(current))) return 0
      if (health.isActive && !health.isCompromised) return Infinity
      const message = `The current key ${current.kid} is not active, or compromised, and the file of --from still has it: put a new key there.`
      throw new AgentError('error', message)
    }
    if (!health.isActive || health.isCompromised) return 0
    const dueAt = Date.parse(since) + Math.max(everyMs ?? Infinity, leastMs)
    const endsAt = health.expireTime ? Date.parse(health.expireTime) - soonMs : Infinity
    return Math.min(dueAt, endsAt) - open.now()
  }
  async function register(found: Found, next: Pair): Promise<number> {
    const { kept, projectId, keys } = found
    const thumbprints = await Promise.all(keys.map(({ jwk }) => thumbprintOf(jwk)))
    const published = keys[thumbprints.indexOf(await thumbprintOf(next))]
    const kid = published?.kid ?? (await create(found, next))
    const { client } = await connectAs(found, next)
    if (kept.current === undefined) await context.allowSelfRotation(client, projectId)
    const registered = { ...next, kid }
    await writeKept(dir, { ...kept, next: registered })
    report(`The key ${kid} is registered.`)
    return takeOver(found, registered)
  }
  /** Registers the key, unless an earlier attempt or its maker has. Returns its published kid. */
  async function create(found: Found, next: Pair): Promise<string> {
    const { projectId } = found
    const { client, isSelf, vouch, now } = await connectAs(found, next)
    const body = {
      name: `${basename(dir)} (${new Date(now()).toISOString().slice(0, 10)})`,
      algorithm: next.alg,
      publicKeyPem: publicPem(privateKeyOf(next)),
      ...(isSelf && { proof: await vouch(next) }),
    }
    const { kid } = await client.keys.create(projectId, body).catch((error) => {
      const twin = error instanceof PubringError ? error.problem?.kid : undefined
      if (twin === undefined) throw error
      return { kid: twin }
    })
    return (await client.keys.get(projectId, kid)).details.publishedKid ?? kid
  }
  /** Waits until every verifier knows the next key, as the server says, and makes it the current one. */
  async function takeOver(found: Found, next: KeptPair): Promise<number> {
    const { kept, projectId } = found
    const { client, now } = await connectAs(found, next)
    const key = await client.keys.get(projectId, next.kid)
    const fault = faultOf(next, key, now() + lifetimeMs + marginMs)
    if (fault !== undefined) {
      await writeKept(dir, { ...kept, next: undefined })
      const hint = readFrom && fault.hint ? ` To use it, ${fault.hint}` : ''
      throw new AgentError('error', `The next key ${next.kid} ${fault.message}${hint}`)
    }
    const { details, expireTime } = key
    if (details.state === 'spreading') {
      return wait('switch', Math.max(100, Date.parse(details.convergedTime) - now()))
    }
    const taken = { ...kept, current: next, since: undefined, next: undefined, old: kept.current }
    await writeKept(dir, taken)
    Object.assign(health, { kept: taken, isActive: true, isCompromised: false, expireTime })
    endReadAt = clock.monotonic()
    return announce(taken, next)
  }
  /** Goes back to the old pair, since the current one was deactivated before the signer was to use it. */
  async function giveUp(kept: Kept, current: KeptPair, old: KeptPair): Promise<number> {
    await handOver(dir, old, kept.ended)
    await writeKept(dir, { current: old, ended: current.kid })
    endReadAt = Number.NEGATIVE_INFINITY
    report(`The key ${current.kid} is not active: the signer goes on with ${old.kid}.`)
    return 0
  }
  /** Lets the signer use the current pair. */
  async function announce(kept: Kept, current: KeptPair): Promise<number> {
    await handOver(dir, current, kept.ended)
    const env = { KEY_DIR: dir, KEY_KID: current.kid }
    const failure = exec && (await runCommand({ command: exec, timeoutMs: hookTimeoutMs }, env))
    if (failure) throw new AgentError('error', `--exec ${failure}.`)
    await writeKept(dir, { ...kept, since: new Date(open.now()).toISOString() })
    report(`The key ${current.kid} signs.`)
    return 0
  }
  /**
   * Sets the end of an old key in advance: it counts whether or not this process is there then. The time is
   * the server's, and counts from now on, so that a clock that is set does not shorten it.
   */
  async function end({ kept, projectId, issuer }: Found, old: KeptPair): Promise<number> {
    const nowMs = open.now()
    const expireTime = new Date(nowMs + lifetimeMs + marginMs).toISOString()
    const claims = { sub: old.kid, expireTime, reason: 'superseded' }
    const token = await signProof(old, endType, { issuer, nowMs, ...claims })
    const ended = await open.client.keys.end(projectId, old.kid, token).catch((error) => {
      if (error instanceof PubringError && error.code === 'key_not_found') return { expireTime }
      throw error
    })
    // Without its end, the old key would be trusted for ever.
    if (!(Date.parse(ended.expireTime) <= Date.parse(expireTime))) {
      throw new AgentError('error', `The answer does not say that the old key ${old.kid} ends.`)
    }
    await writeKept(dir, { ...kept, old: undefined, ended: old.kid })
    report(`The old key ${old.kid} ends at ${ended.expireTime}.`)
    return 0
  }
  function wait(step: string, inMs: number): number {
    health.next = { step, at: clock.now() + inMs }
    return inMs
  }
  return async (): Promise<number | undefined> => {
    const found = await look()
    const { current, since, old, next } = found.kept
    if (current !== undefined && since === undefined) {
      const isLost = !health.isActive && old !== undefined
      return isLost ? giveUp(found.kept, current, old) : announce(found.kept, current)
    }
    if (old !== undefined) return end(found, old)
    const kid = next?.kid
    if (next !== undefined && kid !== undefined) return takeOver(found, { ...next, kid })
    // The maker may have replaced a key that the server refuses.
    return next === undefined || readFrom ? begin(found) : register(found, next)
  }
}

/** Why the key must not sign tokens that end by then, and what helps; undefined if it may. */
function faultOf({ kid, alg }: KeptPair, key: JwtKeyWithDetails, until: number) {
  const { active, details, expireTime, projectId } = key
  const { state, jwsAlgorithm } = details
  if (!active || state === 'compromised') {
    return { message: 'is registered, but not active: it ended before its turn.' }
  }
  if (Date.parse(expireTime ?? '') <= until) {
    const message = `ends at ${expireTime}, before the last token that it would sign.`
    return { message, hint: `run: pubring key expire ${kid} never --project ${projectId}` }
  }
  if (alg === jwsAlgorithm) return undefined
  const message = `is registered for ${jwsAlgorithm} instead of ${alg}.`
  return { message, hint: `add --algorithm ${jwsAlgorithm}.` }
}
