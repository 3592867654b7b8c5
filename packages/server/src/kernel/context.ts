import type { Bytes } from '@pubring/client/internal/log/encoding'
import type { VerifierKey } from '@pubring/client/internal/log/note'
import type { JwsAlgorithm } from '@pubring/intake/algorithms'
import type { PlacesOptions } from '../async/places.ts'
import type { IntakeCaller } from '../intake/fair-queue.ts'
import type { Intake } from '../intake/pool.ts'
import type { OutboundFetch } from '../outbound/outbound.ts'
import type { Clock } from '../runtime/clock.ts'
import type { ChangeKind } from './changes.ts'
import type { Contradictions } from './ledger/contradictions.ts'
import type { Census, CurrentHead, LedgerHead, ObservedHead, ProjectIdentity } from './records.ts'
import type { Db } from './storage/schema.ts'

export type ProjectRef = { id: string } | { name: string }

/** A read of a project, with the revision and the hash of its ledger's head in the same snapshot. */
export interface Snapshot {
  revision: number
  head: string
}

/** The result of one read of several projects: a project that could not be read has the error in its place. */
export type Each<Found> = Map<string, Found | Error>

/**
 * The database, as the kernel and the features use it. Reads see every change whose `commit` has
 * resolved, in any process. Every method rejects with `storage_unavailable` while the database is
 * unavailable.
 */
export interface Store {
  /** The clock of the database, on which all processes that use it agree. */
  clock: Clock
  /** Reads outside transactions. A statement sees one snapshot. */
  reader: Db
  /** Resolves if all tables can be read. */
  ping(): Promise<void>
  /**
   * Makes a change. Resolves once it is durable (it survives `kill -9` and power loss). Where the
   * change is rejected, the error is a PubringError and nothing was changed.
   */
  commit<Change extends object, Result>(
    kind: ChangeKind<Change, Result>,
    change: Change,
  ): Promise<Result>
  /**
   * The project with this id or name, as of this head of the system ledger or later; without one, as of
   * the current head.
   */
  identifyProject(ref: ProjectRef, systemHead?: string): Promise<ProjectIdentity | undefined>
  /**
   * Current heads of ledgers, which validate copies. Unknown ledgers have no entry; those of deleted
   * projects keep theirs. The result may hold further entries.
   */
  heads(ledgerIds: readonly string[]): Promise<Map<string, CurrentHead>>
  /** Whether the observed heads are still current. The read starts after the call. */
  headsMatch(seen: readonly ObservedHead[]): Promise<boolean>
  /** To learn which heads change without reading all of them. */
  followHeads(): HeadFollower
  /**
   * Uncached reads for published documents, which the publisher caches. They may use a standby, but
   * are never older than what this process has read or written.
   */
  published: Pick<Store, 'heads'> & {
    newest<Found extends Snapshot>(
      projectIds: readonly string[],
      read: (db: Db, projectIds: readonly string[]) => Promise<Map<string, Found>>,
    ): Promise<Each<Found>>
  }
  /** Counts keys and warnings at the time (ISO 8601). Slow, but does not delay others. */
  census(time: string): Promise<Census>
  /** The rows that contradict their ledgers, of those that this process has read. */
  contradictions: Pick<Contradictions, 'onRead' | 'count'>
  /** The server and the connections that this process uses. */
  diagnostics(): StoreDiagnostics
  /** Whether the database accepted the last attempt to write. */
  isWritable(): boolean
  close(): Promise<void>
}

export interface HeadFollower {
  follow(ledgerId: string): void
  unfollow(ledgerId: string): void
  /**
   * The heads of the followed ledgers that have changed since the last completed call, or that have
   * been followed since. The read starts after the call. Call it again only when it has settled.
   */
  read(): Promise<Map<string, LedgerHead>>
}

export interface StoreDiagnostics {
  engine: 'SQLite' | 'PostgreSQL'
  /** When `pubring backup` last completed, for a database that is a file. */
  backupTime?: string
  /** The host and port of the primary in use; absent while there is none. */
  primary?: string
  connections?: { used: number; idle: number; waiting: number }
}

/** The OpenID provider at which people sign in. */
export interface OidcConfig {
  issuer: string
  clientId: string
  /** Absent for a public client, or with a private key. */
  clientSecret?: string | undefined
  /** For `private_key_jwt`: PEM, and the id that the provider knows it by. */
  privateKey?: string | undefined
  privateKeyId?: string | undefined
  scopes: string
}

export interface Rate {
  /** Requests per window. */
  limit: number
  /** Seconds. */
  window: number
}

/** A witness (C2SP tlog-witness): its key, and the address that `/add-checkpoint` is below. */
export interface Witness {
  key: VerifierKey
  url: string
}

export interface CoreConfig {
  /** A key may be registered for these. */
  algorithms: readonly JwsAlgorithm[]
  maxKeysPerProject: number
  maxJwksBytes: number
  /** Seconds. */
  jwksMaxAge: number
  /** Seconds for which the last key sets are served while the database is unavailable. */
  jwksStaleLimit: number
  logWitnesses: readonly Witness[]
  /** Every issuer begins with it; no final slash. */
  publicUrl: string
  /** Seconds after which every session ends. */
  sessionLifetime: number
  /** Origins of the pages to which registration links may lead back. */
  returnOrigins: readonly string[]
  /** Absent: people sign in with API keys. */
  oidc?: OidcConfig | undefined
  /** Limit of refused tokens per client address, and of exchanges per access rule; 600 a minute if absent. */
  exchangeLimit?: Rate
  /** Milliseconds from the arrival of a token that is refused to the response; 500 if absent. */
  refusalDelayMs?: number
  /** Requests that are held until a key set changes; `heldRequestPlaces` if absent. */
  heldRequests?: PlacesOptions
  /** Event streams; `eventStreamPlaces` if absent. */
  eventStreams?: PlacesOptions
}

/** The key of this process, and what it has signed, which a restored database may not know. */
export interface LogSigner {
  /** Ed25519, 32 bytes. */
  publicKey: Bytes
  sign(message: Bytes): Bytes
  /**
   * The secret of a ledger, 32 bytes. Only the key determines it: with one from the database, an
   * attacker who alters it could give a rewritten ledger another one, so that no scan finds the entries before.
   */
  blindingOf(ledgerId: string): Bytes
  /** The last checkpoint that was signed for the origin, by any process with this key file. */
  lastSigned(origin: string): string | undefined
  /** The last checkpoint of the last origin that was signed for, perhaps with an earlier key. */
  newest(): string | undefined
  /**
   * Stores the checkpoint durably. False, without a change, if another process stores one now or has
   * stored a later one.
   */
  record(origin: string, checkpoint: string): boolean
}

/** The dependencies of the kernel and the features. */
export interface Context {
  store: Store
  clock: Clock
  config: CoreConfig
  /** Absent: this process does not sign the log. */
  logSigner?: LogSigner
  /** Examines submitted keys outside the event loop. */
  intakeFor(caller: IntakeCaller): Intake
  /** Sends every request to another server. */
  fetch: OutboundFetch
}
