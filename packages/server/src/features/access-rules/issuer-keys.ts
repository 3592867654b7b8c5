import { hash, type KeyObject } from 'node:crypto'
import type { ExposedKey } from '@pubring/intake'
import { isSignatureUse, type Jwk, publicKeyOf, textOf } from '@pubring/intake/jwk'
import { LRUCache } from 'lru-cache'
import { createSingleFlight } from '../../async/single-flight.ts'
import { PubringError } from '../../errors.ts'
import type { Intake } from '../../intake/pool.ts'
import type { Context } from '../../kernel/context.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import { oneFor } from '../../kernel/shared.ts'
import { now } from '../../kernel/values/times.ts'
import { AnswerError, fetchJson, OutboundError } from '../../outbound/outbound.ts'
import { isNestedWithin, isObject } from '../../runtime/json.ts'
import { formatCount } from '../../runtime/text.ts'
import { type Finding, failed, passed, quote } from '../../tokens/findings.ts'
import { isBlocked } from '../keys/exposure/fingerprints.ts'
import { keySetOf } from '../keys/key-sets.ts'
import { mayVouch } from '../keys/states.ts'
import type { IssuerKeySource } from './stored.ts'

const second = 1_000

/** How long fetched keys are used without asking again: limits of what the headers say. */
const freshness = { shortest: 60 * second, usual: 300 * second, longest: 3_600 * second }

/** How long they are used after that while the issuer cannot be reached. */
const graceMs = 3_600 * second

/** Least time between two attempts to fetch the same keys: for anyone's token, and for the issuer's own. */
const pauseMs = 30 * second
const refreshPauseMs = 5 * second

/** Key sets in memory, and keys in one of them: far more than issuers have. */
const maxKeySets = 1_000
const maxKeys = 100

/** Levels of objects and lists in a JWK; `JSON.stringify` throws for thousands. */
const maxLevels = 8

/** Kids that are named, and how much of each. */
const maxNamed = 5
const maxKid = 80

/** The reason for which a key for encryption is left out, which is no fault. */
const otherUse = 'Its use is not sig.'

/** The dependencies of fetching and examining the keys. */
export type IssuerContext = Pick<Context, 'fetch' | 'intakeFor'>

interface IssuerKey {
  /** Empty if the issuer names none. */
  kid: string
  /** JWS algorithms that it verifies. */
  algorithms: string[]
  publicKey: KeyObject
}

interface FetchedKey extends IssuerKey {
  exposed: ExposedKey
}

/** The key, or a sentence for an administrator that says why there is none. */
type IssuerKeyLookup = { key: IssuerKey } | { fault: string; isUnreachable?: true }

export type IssuerKeys = ReturnType<typeof createIssuerKeys>

interface KeySet {
  /** The keys by the text of their JWK, so that each is examined once. */
  keys: Map<string, FetchedKey>
  leftOut: { kid: string; reason: string }[]
  /** Monotonic milliseconds. */
  freshUntil: number
  triedAt: number
  /** Why the last attempt failed. */
  fault?: string
}

/**
 * Keeps the keys of issuers by their source, so that keys with the same kid at two issuers never mix.
 * They are fetched again when their headers say so, and for an unknown kid, at most every 30 seconds;
 * if that fails, the last ones are used for another hour. Long because its functions share the cache.
 */
export function createIssuerKeys(context: Context) {
  const { clock } = context
  const keySets = new LRUCache<string, KeySet>({ max: maxKeySets })
  const refreshedAt = new LRUCache<string, number>({ max: maxKeySets })
  const flights = createSingleFlight<KeySet>()

  async function load(id: string, source: IssuerKeySource): Promise<KeySet> {
    const last = keySets.get(id)
    const triedAt = clock.monotonic()
    let keySet: KeySet
    try {
      const { jwks, freshMs } = await readJwks(context, source)
      const examined = await examineAll(context, source, jwks, last?.keys)
      keySet = { ...examined, triedAt, freshUntil: triedAt + freshMs }
    } catch (error) {
      if (!(error instanceof OutboundError || error instanceof PubringError)) throw error
      const kept = last ?? { keys: new Map(), leftOut: [], freshUntil: Number.NEGATIVE_INFINITY }
      keySet = { ...kept, triedAt, fault: error.message }
    }
    keySets.set(id, keySet)
    return keySet
  }

  return {
    /**
     * Fetches the keys again, for a token that the issuer itself has just sent and that they do not
     * verify: it may have replaced them. Returns whether it did, which is not more than once in 5 seconds.
     */
    async refresh(source: IssuerKeySource): Promise<boolean> {
      const id = keySourceId(source)
      const time = clock.monotonic()
      if (time - (refreshedAt.get(id) ?? Number.NEGATIVE_INFINITY) < refreshPauseMs) return false
      refreshedAt.set(id, time)
      await flights.run(id, () => load(id, source))
      return true
    },

    /**
     * The key of the issuer for the `kid` and `alg` of a token; fetches the keys if need be. Without a kid
     * it is the only one for this `alg`.
     */
    async find(source: IssuerKeySource, kid: string, alg: string): Promise<IssuerKeyLookup> {
      if (source.keySource === 'project') {
        return findProjectKey(context, source.projectId ?? '', { kid, alg })
      }
      const id = keySourceId(source)
      const last = keySets.get(id)
      const time = clock.monotonic()
      const isEnough =
        last !== undefined &&
        (time - last.triedAt < pauseMs || (time < last.freshUntil && hasKid(last, kid)))
      const keySet = isEnough ? last : await flights.run(id, () => load(id, source))
      const isUsable = clock.monotonic() < keySet.freshUntil + graceMs
      const found = select(keySet, { kid, alg, isUsable })
      if ('fault' in found || !(await isBlocked(context.store.reader, found.key.exposed)))
        return found
      return { fault: "The issuer's key is not used: Its private key was submitted to Pubring." }
    },
  }
}

/** Fetches the keys, and says in a sentence for an administrator what was found. */
export async function describeKeys(
  context: IssuerContext,
  source: IssuerKeySource,
): Promise<Finding> {
  const { jwks } = await readJwks(context, source)
  const { keys, leftOut } = await examineAll(context, source, jwks)
  const faulty = keys.size === 0 ? leftOut : leftOut.filter(({ reason }) => reason !== otherUse)
  const reasons = faulty.map(({ kid, reason }) => ` ${quote(kid, maxKid)} is not used: ${reason}`)
  const found = `The issuer has ${formatCount(keys.size, 'key')} for signatures.${reasons.join('')}`
  return keys.size === 0 ? failed(found) : passed(found)
}

/** The keys of issuers, shared by exchanges and checks. */
export const issuerKeysOf = oneFor((kernel: Kernel) => createIssuerKeys(kernel))

/** The active key of the project with the `kid` and `alg` of a token. */
async function findProjectKey(
  { store, clock }: Context,
  projectId: string,
  { kid, alg }: { kid: string; alg: string },
): Promise<IssuerKeyLookup> {
  const keySet = await keySetOf(store, projectId)
  const key = keySet?.keys.find(({ id, publishedKid }) => id === kid || publishedKid === kid)
  if (key === undefined) return { fault: 'The project has no key with this kid.' }
  if (!mayVouch(key, now(clock)))
    return { fault: 'The key with this kid is inactive or compromised.' }
  const { jwsAlgorithm, jwk } = key
  if (alg !== jwsAlgorithm) {
    return { fault: `The header says ${quote(alg)}, but the key verifies ${jwsAlgorithm} only.` }
  }
  return { key: { kid, algorithms: [alg], publicKey: publicKeyOf(jwk) } }
}

/** Identifies a source of keys: equal for rules that use the same keys. */
export function keySourceId({ issuer, keySource, jwksUri, jwks }: IssuerKeySource): string {
  const content = jwks === undefined ? jwksUri : hash('sha256', JSON.stringify(jwks))
  return JSON.stringify([issuer, keySource, content])
}

function hasKid({ keys, leftOut }: KeySet, kid: string): boolean {
  return [...keys.values(), ...leftOut].some((one) => one.kid === kid)
}

function select(
  { keys, leftOut, fault }: KeySet,
  { kid, alg, isUsable }: { kid: string; alg: string; isUsable: boolean },
): { key: FetchedKey } | { fault: string; isUnreachable?: true } {
  if (!isUsable) {
    const detail = `The keys of the issuer could not be fetched. ${fault ?? ''}`
    return { fault: detail, isUnreachable: true }
  }
  const named = [...keys.values()].filter((key) => kid === '' || key.kid === kid)
  const [key, ...others] = named.filter(({ algorithms }) => algorithms.includes(alg))
  if (kid === '' && others.length > 0) {
    return { fault: `The header has no kid, and the issuer has several keys for ${quote(alg)}.` }
  }
  if (key !== undefined) return { key }
  const [other] = named
  if (other !== undefined) {
    return {
      fault: `The header says ${quote(alg)}, but the key verifies ${other.algorithms.join(', ')} only.`,
    }
  }
  const left = leftOut.find((one) => one.kid === kid)
  if (left !== undefined) return { fault: `The issuer's key is not used: ${left.reason}` }
  const retry = fault === undefined ? '' : ` The last attempt to fetch them failed: ${fault}`
  const kids = [...keys.values()].slice(0, maxNamed).map((one) => quote(one.kid, maxKid))
  const known = kids.length === 0 ? '' : `; its keys have ${kids.join(', ')}`
  return { fault: `The issuer has no key with this kid (${quote(kid, maxKid)})${known}.${retry}` }
}

/** The JWKS and the milliseconds for which it is fresh. Rejects with an `OutboundError`. */
async function readJwks(
  { fetch }: IssuerContext,
  source: IssuerKeySource,
): Promise<{ jwks: unknown; freshMs: number }> {
  if (source.jwks !== undefined) {
    return { jwks: source.jwks, freshMs: Number.POSITIVE_INFINITY }
  }
  const url = source.jwksUri ?? (await discover(fetch, source.issuer))
  const { value, headers } = await fetchJson(fetch, url)
  return { jwks: value, freshMs: freshMsOf(headers) }
}

async function discover(fetch: Context['fetch'], issuer: string): Promise<string> {
  const { url, document } = await readDiscovery(fetch, issuer)
  return addressIn(document, 'jwks_uri', url)
}

/** An address that a discovery document has. Throws an `AnswerError` if it has none. */
export function addressIn(document: Record<string, unknown>, name: string, url: string): string {
  const address = document[name]
  if (typeof address === 'string' && URL.canParse(address)) return address
  throw new AnswerError(`${url} has no ${name}.`)
}

/**
 * The discovery document of the issuer, and its address (OpenID Connect Discovery 1.0 sections 4.1 and
 * 4.3). Rejects with an `OutboundError`.
 */
export async function readDiscovery(
  fetch: Context['fetch'],
  issuer: string,
): Promise<{ url: string; document: Record<string, unknown>; headers: Headers }> {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
  const { value, headers } = await fetchJson(fetch, url)
  const document = isObject(value) ? value : {}
  if (document.issuer !== issuer) {
    const named =
      typeof document.issuer === 'string'
        ? `the issuer ${quote(document.issuer, 200)}`
        : 'no issuer'
    throw new AnswerError(
      `${url} names ${named}. It must name ${issuer}, with every character the same.`,
    )
  }
  return { url, document, headers }
}

/** How long a response is fresh by `Cache-Control` and `Age` (RFC 9111 section 4.2), within our bounds. */
function freshMsOf(headers: Headers): number {
  const control = headers.get('cache-control') ?? ''
  const [, maxAge] = /(?:^|[\s,])max-age="?(\d{1,9})/i.exec(control) ?? []
  const age = Number(headers.get('age') ?? 0) || 0
  const stated = /no-(cache|store)/i.test(control) ? 0 : (Number(maxAge) - age) * second
  const wanted = Number.isNaN(stated) ? freshness.usual : stated
  return Math.min(freshness.longest, Math.max(freshness.shortest, wanted))
}

/** Examines the keys that were not examined before, by the same rules as registered keys. */
async function examineAll(
  context: IssuerContext,
  { issuer }: IssuerKeySource,
  jwks: unknown,
  before: KeySet['keys'] = new Map(),
): Promise<Pick<KeySet, 'keys' | 'leftOut'>> {
  const listed = isObject(jwks) && Array.isArray(jwks.keys) ? jwks.keys : undefined
  if (listed === undefined) throw new AnswerError('The issuer does not serve a JWKS.')
  // One caller, so that an issuer of many keys has one turn among others.
  const intake = context.intakeFor({ callerId: `issuer ${issuer}` })
  const keys: KeySet['keys'] = new Map()
  const leftOut: KeySet['leftOut'] = []
  for (const jwk of listed.slice(0, maxKeys)) {
    if (!isObject(jwk) || !isNestedWithin(jwk, maxLevels)) continue
    const text = JSON.stringify(jwk)
    const result = before.get(text) ?? (await examine(intake, jwk))
    if (typeof result === 'string') leftOut.push({ kid: textOf(jwk.kid), reason: result })
    else keys.set(text, result)
  }
  return { keys, leftOut }
}

/** The key, or the reason why it is not used. */
async function examine(intake: Intake, jwk: Jwk): Promise<FetchedKey | string> {
  const { kid = '', use, alg } = jwk
  if (typeof kid !== 'string') return 'Its kid is not a text.'
  if (!isSignatureUse(use)) return otherUse
  if ('d' in jwk || 'priv' in jwk) return 'The issuer serves its private key.'
  const pem = pemOf(jwk)
  if (pem === undefined) return 'It is not a public key that Pubring knows.'
  const verdict = await intake.examine(pem)
  if (!verdict.ok) return verdict.faults.map(({ detail }) => detail).join(' ')
  const fitting = verdict.key.algorithms.filter((name) => name !== 'RSA')
  const algorithms = alg === undefined ? fitting : fitting.filter((name) => name === alg)
  if (algorithms.length === 0) return `Its alg must be one of ${fitting.join(', ')}.`
  return { kid, algorithms, publicKey: publicKeyOf(verdict.key.jwk), exposed: verdict.key }
}

function pemOf(jwk: Jwk): string | undefined {
  try {
    return publicKeyOf(jwk).export({ type: 'spki', format: 'pem' })
  } catch {
    return undefined
  }
}
