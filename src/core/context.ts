import type { Algorithm } from '../contract/algorithms.ts'
import type { BulkIntake } from '../intake/threads/bulk.ts'
import type { ExposedKey, Verdict } from '../intake/types.ts'
import type { LedgerEvent } from './ledger/chain.ts'
import type { ChangeOf, ChangeResults, ChangeType } from './ledger/changes.ts'
import type {
  ApiKeyRecord,
  KeyCount,
  KeySet,
  LedgerHead,
  ObservedHead,
  ProjectRecord,
  ProjectSnapshot,
  RsaKey,
} from './records.ts'

/** How a caller names a project. */
export type ProjectRef = { id: string } | { name: string }

/**
 * All that the core asks of a database. Reads see every change whose `commit` has resolved, on any
 * process. Each method rejects with `storage_unavailable` when the database cannot answer.
 */
export interface Store {
  /**
   * The one way to change anything. Resolves when the change is durable (it survives `kill -9` and
   * loss of power); rejects with a PubringError, and then nothing of it was kept.
   */
  commit<T extends ChangeType>(change: ChangeOf<T>): Promise<ChangeResults[T]>
  findProject(ref: ProjectRef): Promise<ProjectSnapshot | undefined>
  /** A page in order of id (which is order of creation); `after` is the last id of the page before. */
  listProjects(page: { after?: string; limit: number }): Promise<ProjectRecord[]>
  /**
   * Where ledgers end at present (a project's, or the system's): what copies of a project's data must
   * be compared with. A ledger that is not known has no entry; a deleted project's stays. There may be
   * entries that were not asked for.
   */
  heads(ledgerIds: readonly string[]): Promise<Map<string, LedgerHead>>
  /**
   * Whether none of the ledgers has gone on, so that what was read of them still is so. Looks no
   * earlier than it is called.
   */
  headsMatch(seen: readonly ObservedHead[]): Promise<boolean>
  /** Events after the given revision, in order. */
  events(ledgerId: string, page: { after: number; limit: number }): Promise<LedgerEvent[]>
  /** Keys and revision in one snapshot; undefined where there is no such project. */
  keySet(projectId: string): Promise<KeySet | undefined>
  findApiKeyByDigest(digest: string): Promise<ApiKeyRecord | undefined>
  findApiKey(id: string): Promise<ApiKeyRecord | undefined>
  /** All of them in order of creation, or those bound to one project. */
  listApiKeys(boundTo: string | undefined): Promise<ApiKeyRecord[]>
  countApiKeys(): Promise<number>
  /**
   * Whether a private half was ever submitted: then `key.create`, which asks for itself, takes the
   * public one into no project. Keys that were there before stay; they are reported as compromised.
   */
  isBlocked(material: ExposedKey): Promise<boolean>
  /** What is needed to compare the project's RSA keys with others. */
  rsaKeys(projectId: string): Promise<RsaKey[]>
  /** Where the keys with this material are, in all projects, whatever their state. */
  findKeysByMaterial(materialSha256: string): Promise<{ projectId: string; kid: string }[]>
  /**
   * Where what is published is read: by whoever keeps it, and so nothing of it is kept here. It is as
   * fresh as the servers there are, and never older than what this process has seen.
   */
  published: Pick<Store, 'heads' | 'keySet'>
  /** How many keys there are of each kind, at the time given (ISO 8601). */
  countKeys(time: string): Promise<KeyCount[]>
  /** Resolves when all that is stored can be read: what serving depends on. */
  ping(): Promise<void>
  /** Whether the last change that was tried could be written, as far as the database goes. */
  isWritable(): boolean
  close(): Promise<void>
}

export interface Clock {
  /** Milliseconds since the epoch: for what is stored or told. It may be set back. */
  now(): number
  /** Milliseconds since some moment: for measuring. It never goes back. */
  monotonic(): number
}

/** The settings that the domain needs, a part of the whole configuration. */
export interface CoreConfig {
  maxKeysPerProject: number
  maxJwksBytes: number
  /** Seconds. */
  jwksMaxAge: number
  /** Seconds for which the last good key sets are served while the database is away. */
  jwksStaleLimit: number
  /** Requests for a JWKS that wait for news (`Prefer: wait`) at the same time. */
  maxHeldRequests: number
  /** Event streams that are open at the same time. */
  maxEventStreams: number
  /** Keys that one import may bring. */
  maxImportKeys: number
  /** Begins every issuer, without a final slash. */
  publicUrl: string
}

/** Everything that the core works with; made once at start. */
export interface Context {
  store: Store
  clock: Clock
  config: CoreConfig
  /** The intake's verdict, worked out off the event loop. */
  examine(text: string, algorithm: Algorithm | undefined): Promise<Verdict>
  /** The same for imports, behind single keys. */
  bulk: BulkIntake
}
