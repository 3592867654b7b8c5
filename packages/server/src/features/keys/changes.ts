import type { ExposedKey } from '@pubring/intake'
import type { IntakeCode } from '@pubring/intake/codes'
import { type FieldError, PubringError } from '../../errors.ts'
import type { RequestContext } from '../../kernel/access/principal.ts'
import { change, type Origin, type Transaction } from '../../kernel/changes.ts'
import { hook } from '../../kernel/hooks.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import type { NewEvent } from '../../kernel/ledger/chain.ts'
import type { Db } from '../../kernel/storage/schema.ts'
import type { Validity } from '../../kernel/values/validity.ts'
import type { EndReason, JwtKeyUpdate, KeyUse, KeyWarning } from './contract.ts'
import type { Replacement } from './states.ts'
import type { KeyRecord } from './stored.ts'

/** Limits that the transaction of a change enforces. */
export interface KeyLimits {
  maxKeys: number
  maxJwksBytes: number
}

export interface KeyCreation {
  origin: Origin
  key: KeyRecord
  limits: KeyLimits
}

export interface KeyToImport {
  /** Index in the request. */
  index: number
  key: KeyRecord
  /** Whether the caller chose the kid. */
  kidProvided: boolean
}

export interface KeyImport {
  origin: Origin
  projectId: string
  keys: KeyToImport[]
  limits: KeyLimits
  /** Kids of registered RSA keys that share no prime with those of the import. */
  compared: string[]
  /** Return the result without storing anything. */
  dryRun: boolean
}

/** Usage before and after an import. */
interface Capacity {
  before: number
  after: number
  limit: number
}

/** Nothing was stored if anything was `rejected`. */
export interface ImportResult {
  /** The admitted keys, in order. */
  items: { outcome: 'created' | 'present'; kid: string }[]
  rejected: FieldError[]
  room: { keys: Capacity; jwksBytes: Capacity }
}

/** The key of a request, and the `ETag` that it must still have. */
export interface KeyReference {
  projectId: string
  /** Its id or `publishedKid`. */
  kid: string
  ifMatch?: string
}

export interface KeyDeletion extends KeyReference {
  origin: Origin
}

export interface KeyPatch extends KeyDeletion {
  patch: JwtKeyUpdate
  limits: KeyLimits
}

/** Its result is the end that the key has. */
export interface KeyEnding extends KeyDeletion {
  /** ISO 8601. */
  expireTime: string
  reason?: EndReason
  /** `tokenDigest` of the proof. */
  once: string
}

/** A patched key, and what the patch entails for its project. */
export interface KeyUpdate {
  key: KeyRecord
  warnings: KeyWarning[]
}

export interface WeaknessFinding {
  origin: Origin
  projectId: string
  kid: string
  weaknesses: IntakeCode[]
  deactivate: boolean
}

export interface WeaknessReport {
  /** Weaknesses that the ledger did not have yet. */
  reported: IntakeCode[]
  /** Whether the key is active after the report. */
  active: boolean
  /** Whether the report deactivated it. */
  deactivated: boolean
}

export interface PrivateKeyRefusal {
  origin: Origin
  /** Absent: the event goes to the system ledger. */
  projectId?: string
  exposed: ExposedKey
}

export function invalidProof(detail: string): PubringError {
  return new PubringError('invalid_proof', `The key does not prove itself. ${detail}`)
}

/** The change may name its key by `publishedKid`, and not by the id that its event has. */
const eventsOfKey = () => ({ types: ['key.updated', 'key.deleted'] })

export const keyChanges = {
  createKey: change<KeyCreation, KeyRecord>('key.create', {
    ledgers: ({ key }) => [key.projectId],
    events: ({ key }) => ({ subjects: [key.id] }),
  }),
  importKeys: change<KeyImport, ImportResult>('key.import', {
    events: ({ keys }) => ({ subjects: keys.map(({ key }) => key.id) }),
  }),
  updateKey: change<KeyPatch, KeyUpdate>('key.update', { events: eventsOfKey }),
  endKey: change<KeyEnding, string>('key.end', { events: eventsOfKey }),
  deleteKey: change<KeyDeletion>('key.delete', { events: eventsOfKey }),
  reportWeakness: change<WeaknessFinding, WeaknessReport>('key.report_weakness', {
    events: ({ kid }) => ({ subjects: [kid] }),
  }),
  // The key must be blocked, and incidents have a limit of their own.
  refusePrivateKey: change<PrivateKeyRefusal>('private_key.refuse', { isUnlimited: true }),
}

/** A key is deactivated or deleted; returns events for the ledger of its project. */
export const keyEnded = hook<
  [tx: Transaction, key: KeyRecord, step: 'disable' | 'delete', time: string],
  Promise<NewEvent[]>
>()

/** Members of a key change; returns events for the ledger of its project. */
export const keyChanged = hook<[tx: Transaction, key: KeyRecord], Promise<NewEvent[]>>()

/** Reads the replacements of keys of a project, for the states of the keys. */
export const replacements = hook<[db: Db, projectId: string], Promise<Replacement[]>>()

/** What verifiers have reported of the uses of the keys of a project. */
export interface KeyUses {
  of(key: KeyRecord): KeyUse | undefined
  /** Until a verifier reports or falls silent. */
  validity: Validity
}

/** Reads the uses of the keys. */
export const keyUses = hook<[kernel: Kernel, projectId: string], Promise<KeyUses>>()

/** A request submits a key that was accepted, with a proof that it belongs to the caller. */
export const keySubmitted = hook<
  [context: RequestContext, key: KeyRecord, proof: string | undefined],
  Promise<void>
>()
