import type { Clock } from '../runtime/clock.ts'
import { isObject } from '../runtime/json.ts'
import type { ReadCaller } from './access/callers.ts'
import type { Access, Credential } from './access/grants.ts'
import type { Hooks } from './hooks.ts'
import { type Actor, changerOf, systemLedgerId } from './ledger/chain.ts'
import type { AnySubject } from './ledger/subject.ts'
import type { RecordReference } from './records.ts'
import type { Db } from './storage/schema.ts'

/** Who requested a change, when, and in which request; its ledger event repeats this. */
export interface Origin {
  actor: Actor
  requestId: string
  /** ISO 8601. An `updateTime` never goes back, even if this does. */
  time: string
  /** Absent for changes by the system itself or by a command with access to the database. */
  authorization?: Authorization
}

/** The access that a request was granted; its change checks it again inside the transaction. */
export interface Authorization {
  credential: Credential
  access: Access
  /** The project to which access was granted; absent if the access is not to one project. */
  projectId?: string
}

/** A change of a record in the ledger of the system. */
export interface RecordChange extends RecordReference {
  origin: Origin
  /** The issuer at which people sign in; absent if they cannot. */
  provider?: string
}

/** A merge patch (RFC 7396) of such a record. */
export interface RecordUpdate<Patch> extends RecordChange {
  patch: Patch
}

/** The transaction, or savepoint, in which a change is applied, and the clock of its database. */
export interface OpenTransaction {
  db: Db
  clock: Clock
}

/** A transaction, with what the features add to it. */
export interface Transaction extends OpenTransaction {
  /** Runs what other features do in the same transaction. */
  hooks: Hooks
  /** The kinds of rows that ledgers account for. */
  subjects: readonly AnySubject[]
  readCaller: ReadCaller
}

/** The result of a change. The caller rolls back a transaction that has not `changed` anything. */
export interface Outcome<Result> {
  result: Result
  changed: boolean
}

/**
 * Applies a change, on any engine, in a transaction or savepoint that the caller has opened. The caller
 * rolls back if this throws (a PubringError if the change is rejected) or nothing changed.
 */
export type Apply<Change, Result> = (tx: Transaction, change: Change) => Promise<Outcome<Result>>

/**
 * A kind of mutation. Its changes are plain data, so that they can be queued, sent to the writer thread,
 * committed together with others, and repeated after an unclear commit: they contain the ids they create.
 */
export interface ChangeKind<in Change, Result> {
  readonly type: string
  /** The ledgers that the change is known to write to, the project's first. */
  ledgers(change: Change): readonly string[]
  /** Selects the events of the change among those of its request: one shows that an unclear commit was made. */
  events(change: Change): EventSelection
  /** Whether it is made even if its caller has made too many changes. */
  isUnlimited: boolean
  /** Carries the type of the result, and is never set. */
  readonly result?: Result
}

/** Events with one of these subjects, or of one of these types. */
type EventSelection = { subjects: readonly string[] } | { types: readonly string[] }

interface KindOptions<Change> {
  /** The default is the ledger of the change's `projectId`, or the system's; none without an origin. */
  ledgers?: (change: Change) => readonly string[]
  /** The default is the events about the change's `id`, or about its ledger. */
  events?: (change: Change) => EventSelection
  isUnlimited?: boolean
}

export function change<Change extends object, Result = undefined>(
  type: string,
  {
    ledgers = ownLedger,
    events = eventsAbout(ledgers),
    isUnlimited = false,
  }: KindOptions<Change> = {},
): ChangeKind<Change, Result> {
  return { type, ledgers, events, isUnlimited }
}

/** Only changes with an origin have events. */
export function hasOrigin(change: object): change is { origin: Origin } {
  return 'origin' in change
}

/** Who makes the change; undefined for Pubring itself. */
export function changerIn(change: object): string | undefined {
  return hasOrigin(change) ? changerOf(change.origin.actor) : undefined
}

function ownLedger(change: object): string[] {
  return hasOrigin(change) ? [textOf(change, 'projectId') ?? systemLedgerId] : []
}

function eventsAbout<Change extends object>(ledgers: (change: Change) => readonly string[]) {
  return (change: Change): EventSelection => ({
    subjects: [textOf(change, 'id') ?? ledgers(change)[0] ?? ''],
  })
}

function textOf(change: object, name: string): string | undefined {
  const value = isObject(change) ? change[name] : undefined
  return typeof value === 'string' ? value : undefined
}

export type AnyKind = ChangeKind<never, unknown>
export type AnyApply = Apply<never, unknown>

/** The kinds of a feature, each with the name of the function that applies it. */
export type Kinds = Readonly<Record<string, AnyKind>>

export type AppliersOf<All extends Kinds> = {
  [Name in keyof All]: All[Name] extends ChangeKind<infer Change, infer Result>
    ? Apply<Change, Result>
    : never
}

/** The functions that apply all kinds of changes. */
export interface Appliers {
  apply<Change extends object, Result>(
    open: OpenTransaction,
    kind: ChangeKind<Change, Result>,
    change: Change,
  ): Promise<Outcome<Result>>
  /** Throws if there is no such kind. */
  kind(type: string): AnyKind
}
