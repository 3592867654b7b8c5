import {
  type ListedKey,
  parseLedgerProof,
  parseVerifierKey,
  type TrustedKeys,
  type VerifiedCheckpoint,
  verifyLast,
  verifyLedgerProof,
  verifyPublication,
} from '../log/index.ts'
import { equalBytes } from '../log/tree.ts'
import { createDeadline } from '../transport/deadline.ts'
import { readText } from '../transport/text-chunks.ts'
import { placeholderKid } from './contents.ts'
import { KeySetError } from './errors.ts'
import { maxResponseLength } from './fetch.ts'
import { formatHead, type Head } from './head.ts'
import { thumbprintOf } from './import.ts'
import type { KeySetOptions } from './options.ts'

/** The last proof of the project. */
type Proven = {
  revision: number
  head: string
  /** The keys that the project publishes from this revision on. */
  list: readonly ListedKey[]
  checkpoint: VerifiedCheckpoint & { date: number }
}

/** A key of a key set, which may be foreign. */
type ReceivedKey = { kid: string; alg: string; jwk: Record<string, string | undefined> }

type ReceivedKeySet = {
  head: Head | undefined
  /** Without the placeholder. */
  keys: readonly ReceivedKey[]
  /** Whether it is `jwks.json`, which has no ML-DSA keys. */
  isCommon?: boolean
  /** Whether it is a cache's copy, which may be older than the last proof. */
  isCopy?: boolean
}

export type ProvenKeySet = ReturnType<typeof createProvenKeySet>

type Options = Required<Pick<KeySetOptions, 'fetch' | 'timeout' | 'log'>> & { url: string }

/** The log dates its checkpoint every minute; from this age on, a proof with a newer date is asked for. */
const renewAfterMs = 60_000

/** The age of a date after which a later checkpoint may have been kept back: two intervals of the log. */
const maxProofAgeMs = 120_000

/** How far the clock of the server may be ahead. */
const maxSkewMs = 300_000

/**
 * Compares key sets with what the log has of their project. Throws `invalid_option` if the address has no
 * project id: proofs are of ids, not of names. Long because its functions share the last proof.
 */
export function createProvenKeySet({ url, fetch, timeout, log }: Options) {
  const [, project, id = ''] = /^(.*\/projects\/([0-9a-f-]{36}))\/\.well-known\//.exec(url) ?? []
  if (project === undefined) throw invalidLog('The address must have the id of the project.')
  const address = `${project}/.well-known/ledger-proof`
  const trusted = readKeys(log)
  // Each use awaits it.
  trusted.catch(() => {})
  // A lying server sends ever new keys: only those that are still in use have an entry.
  const thumbprints = new WeakMap<ReceivedKey['jwk'], string>()
  let proven: Proven | undefined

  async function fetchProof(signal: AbortSignal | undefined): Promise<Proven> {
    const deadline = createDeadline(timeout, signal)
    try {
      const init = { redirect: 'manual', credentials: 'omit' } as const
      const response = await fetch(address, { ...init, signal: deadline.signal })
      if (!response.ok) throw new Error(`${address} responds with status ${response.status}.`)
      const text = (await readText(response, maxResponseLength)) ?? ''
      const { publication, ...proof } = parseLedgerProof(text)
      // With the id from the address, a proof of another project is not valid.
      const head = { ...proof.head, ledgerId: id }
      const { date, ...checkpoint } = await verifyLedgerProof({ ...proof, head }, await trusted)
      await verifyLast({ ...proof, head }, checkpoint)
      if (date === undefined) throw new Error('The log does not date its checkpoints.')
      const list = await verifyPublication(head, publication)
      return { ...head, list, checkpoint: { ...checkpoint, date } }
    } finally {
      deadline.clear()
    }
  }
  /** Resolves with why there is no proof. */
  async function renew(signal: AbortSignal | undefined): Promise<unknown> {
    let next: Proven
    try {
      next = await fetchProof(signal)
    } catch (error) {
      return error
    }
    if (proven !== undefined) requireSameHistory(proven, next)
    if (next.checkpoint.size >= (proven?.checkpoint.size ?? 0)) proven = next
    return undefined
  }
  async function digest(keys: readonly ReceivedKey[]): Promise<void> {
    for (const { jwk } of keys) {
      if (!thumbprints.has(jwk)) thumbprints.set(jwk, await thumbprintOf(jwk))
    }
  }
  /** The key in the list of the last proof. */
  function find({ kid, alg, jwk }: ReceivedKey): ListedKey | undefined {
    const thumbprint = thumbprints.get(jwk)
    return proven?.list.find(
      (listed) => listed.kid === kid && listed.alg === alg && listed.thumbprint === thumbprint,
    )
  }
  return {
    /** The revision of the last proof; undefined before the first one. */
    latest: () => proven?.revision,
    /** Whether the log has proven the key of a checked key set, and it has not expired. */
    counts(key: ReceivedKey): boolean {
      const listed = find(key)
      return listed !== undefined && !isExpired(listed, Date.now())
    },
    /**
     * Throws `key_set_disproved` if the key set is older than the last proof and no copy, has no revision, or
     * is not the one that the log has of its revision, or if the log contradicts itself; and
     * `key_set_unproven` without a recent proof. The keys that a newer key set adds do not count yet.
     */
    async check(
      { head, keys, isCommon = false, isCopy = false }: ReceivedKeySet,
      signal: AbortSignal | undefined,
    ): Promise<void> {
      await trusted
      if (head === undefined) throw withoutRevision()
      await digest(keys)
      if (!isCopy) requireCurrent(head, proven)
      let problem: unknown
      if (head.revision > (proven?.revision ?? 0) || ageMs(proven) > renewAfterMs) {
        problem = await renew(signal)
        if (!isCopy) requireCurrent(head, proven)
      }
      if (proven === undefined || ageMs(proven) > maxProofAgeMs) throw unproven(proven, problem)
      if (head.revision !== proven.revision) return
      requireSameHead(head, proven)
      const foreign = keys.find((key) => find(key) === undefined)
      if (foreign !== undefined) throw differs(proven, 'has', foreign.kid)
      const missing = proven.list.find(
        (listed) => !keys.some(({ kid }) => kid === listed.kid) && !mayBeMissing(listed, isCommon),
      )
      if (missing !== undefined) throw differs(proven, 'lacks', missing.kid)
    },
  }
}

async function readKeys({ key, witnesses = [], quorum }: Options['log']): Promise<TrustedKeys> {
  try {
    return {
      log: await parseVerifierKey(key),
      witnesses: await Promise.all(witnesses.map(parseVerifierKey)),
      ...(quorum === undefined ? {} : { quorum }),
    }
  } catch (cause) {
    throw invalidLog(cause instanceof Error ? cause.message : '', cause)
  }
}

function ageMs(proven: Proven | undefined): number {
  return Date.now() - (proven?.checkpoint.date ?? 0) * 1_000
}

function isExpired({ expireTime }: ListedKey, atMs: number): boolean {
  return expireTime !== undefined && Date.parse(expireTime) <= atMs
}

function mayBeMissing(listed: ListedKey, isCommon: boolean): boolean {
  if (listed.kid === placeholderKid || (isCommon && listed.alg.startsWith('ML-DSA'))) return true
  return isExpired(listed, Date.now() + maxSkewMs)
}

function requireCurrent({ revision }: Head, proven: Proven | undefined): void {
  if (proven !== undefined && revision < proven.revision) throw outdated(revision, proven.revision)
}

function requireSameHead(head: Head, { revision, head: hash }: Proven): void {
  if (hash.startsWith(head.hashStart ?? '')) return
  throw disproved(
    `The key set is of ${formatHead(head)}, and the log has event ${revision} with the hash ${hash}. It is not used.`,
  )
}

function requireSameHistory(before: Proven, next: Proven): void {
  const [one, other] = [before.checkpoint, next.checkpoint]
  if (before.revision === next.revision && before.head !== next.head) {
    throw contradicts(
      `it has two hashes for event ${next.revision}: ${before.head} and ${next.head}`,
    )
  }
  if (one.size === other.size && !equalBytes(one.root, other.root)) {
    throw contradicts(`it has two checkpoints with ${one.size} entries`)
  }
  if ((other.size - one.size) * (next.revision - before.revision) < 0) {
    throw contradicts(
      `event ${before.revision} is the last one of its first ${one.size} entries, and event ${next.revision} of its first ${other.size}`,
    )
  }
}

function invalidLog(reason: string, cause?: unknown): KeySetError {
  return new KeySetError('invalid_option', `log cannot be used. ${reason}`, { cause })
}

function disproved(message: string): KeySetError {
  return new KeySetError('key_set_disproved', message)
}

function contradicts(reason: string): KeySetError {
  return disproved(`The log contradicts itself: ${reason}.`)
}

function outdated(revision: number, proven: number): KeySetError {
  return disproved(
    `The key set is of revision ${revision}, and the log has revision ${proven} of the project. It is not used: keys may have been deactivated since.`,
  )
}

function differs({ revision }: Proven, verb: 'has' | 'lacks', kid: string): KeySetError {
  return disproved(
    `The key set is not the one that the log has of revision ${revision}: it ${verb} the key ${JSON.stringify(kid).slice(0, 300)}. It is not used. Ask the operator who has changed what the server responds.`,
  )
}

function withoutRevision(): KeySetError {
  return disproved(
    'The response does not tell the revision of the key set (Pubring-Revision), so that it cannot be compared with the log. Does a proxy remove the header?',
  )
}

function unproven(proven: Proven | undefined, cause: unknown): KeySetError {
  const since =
    proven === undefined ? '' : ` since ${new Date(proven.checkpoint.date * 1_000).toISOString()}`
  const reason = cause instanceof Error ? ` ${cause.message}` : ''
  return new KeySetError(
    'key_set_unproven',
    `The log has not proven the key set${since}, so it is not used.${reason} Does the server sign checkpoints of its log, and is the clock of this machine right?`,
    { cause },
  )
}
