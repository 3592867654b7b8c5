import { setTimeout as delay } from 'node:timers/promises'
import { createSemaphore } from '../../../async/semaphore.ts'
import type { Clock } from '../../../runtime/clock.ts'
import { type Appliers, type ChangeKind, changerIn, hasOrigin } from '../../changes.ts'
import type { Store } from '../../context.ts'
import { isStorageUnavailable } from '../../faults.ts'
import { lockLedger } from '../../ledger/locked-ledger.ts'
import { classify, queueFull, toStorageError, unconfirmedChange } from '../errors.ts'
import { exists } from '../statements.ts'
import type { PostgresAddress } from './address.ts'
import { createKysely, type PostgresDatabase, UnconfirmedCommit } from './database.ts'
import { databaseBusy } from './errors.ts'

/** How long a change is retried, after random pauses up to a limit that is doubled each time. */
const retryWindowMs = 4_000
const firstPauseMs = 40
const maxPauseMs = 320

const maxWaiting = 4_096

/** An attempt whose commit was not confirmed. */
interface Unconfirmed<Result> {
  result: Result
  error: UnconfirmedCommit
}

/**
 * Commits changes, each in its own transaction. A change that conflicts with another one, or loses
 * its connection before its commit is sent, is retried from the start. If the response to the commit
 * is lost, the ledger tells whether the change was made, once the database can be reached again.
 * Changes of one ledger run one after another in any case, so each waits for its ledger and a connection together: none
 * holds one of them while it waits for the other, and callers take turns. Half of the connections remain for reads.
 */
export function createCommit(
  applying: Applying,
  database: PostgresDatabase,
  { poolSize, connectTimeoutMs }: PostgresAddress,
): Pick<Store, 'commit' | 'isWritable'> {
  const connections = createSemaphore({
    permits: Math.ceil(poolSize / 2),
    maxWaiting,
    fullError: queueFull,
    timeoutError: databaseBusy,
  })
  // Longer than a read waits.
  const acquireTimeoutMs = 1.5 * connectTimeoutMs
  let isWritable = true

  return {
    async commit(kind, change) {
      const [key = 'none'] = kind.ledgers(change)
      const holder = changerIn(change)
      const release = await connections.acquire(acquireTimeoutMs, { holder, key })
      try {
        const result = await commitWithRetries({ ...applying, database, kind, change })
        isWritable = true
        return result
      } catch (error) {
        isWritable = !isStorageUnavailable(error)
        throw error
      } finally {
        release()
      }
    },
    isWritable: () => isWritable,
  }
}

/** How changes are applied. */
interface Applying {
  appliers: Appliers
  clock: Clock
}

/** A change of a kind, and where it is made. */
interface Commit<Change extends object, Result> extends Applying {
  database: PostgresDatabase
  kind: ChangeKind<Change, Result>
  change: Change
}

async function commitWithRetries<Change extends object, Result>(
  commit: Commit<Change, Result>,
): Promise<Result> {
  const deadline = performance.now() + retryWindowMs
  let unconfirmed: Unconfirmed<Result> | undefined
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, maxPauseMs)) {
    const canRetry = () => performance.now() < deadline
    try {
      if (unconfirmed !== undefined) {
        const isCommitted = await wasCommitted(commit)
        if (isCommitted) return unconfirmed.result
        if (isCommitted === false) unconfirmed = undefined
      }
      const outcome = await attempt(commit)
      if (!('error' in outcome)) return outcome.result
      unconfirmed = outcome
      if (!canRetry()) throw unconfirmedChange(unconfirmed.error)
    } catch (error) {
      if (!(isRetryable(error, unconfirmed !== undefined) && canRetry())) {
        if (unconfirmed === undefined) throw toStorageError(error)
        return settle(commit, unconfirmed, error)
      }
      await delay(pauseMs * Math.random())
    }
  }
}

/** A database that cannot be reached is waited for only if that decides whether a change was made. */
function isRetryable(error: unknown, isUnconfirmed: boolean): boolean {
  const fault = classify(error)
  return isUnconfirmed ? fault !== 'other' : ['lost', 'read-only', 'conflict'].includes(fault)
}

/** The outcome when an attempt was not confirmed and a later one failed with the error. */
async function settle<Change extends object, Result>(
  commit: Commit<Change, Result>,
  unconfirmed: Unconfirmed<Result>,
  error: unknown,
): Promise<Result> {
  if (classify(error) !== 'other') throw unconfirmedChange(unconfirmed.error)
  // Perhaps rejected because of the first attempt, which may have taken the name itself.
  const isCommitted = await wasCommitted(commit).catch(() => {
    throw unconfirmedChange(unconfirmed.error)
  })
  if (isCommitted) return unconfirmed.result
  throw error
}

async function attempt<Change extends object, Result>({
  database,
  appliers,
  clock,
  kind,
  change,
}: Commit<Change, Result>): Promise<{ result: Result } | Unconfirmed<Result>> {
  const transaction = await database.begin()
  const applied = appliers.apply({ db: createKysely(transaction.query), clock }, kind, change)
  const { result, changed } = await applied.catch(async (error) => {
    await transaction.rollback()
    throw error
  })
  if (!changed) {
    await transaction.rollback()
    return { result }
  }
  try {
    await transaction.commit()
    return { result }
  } catch (error) {
    if (error instanceof UnconfirmedCommit) return { result, error }
    throw error
  }
}

/**
 * Whether the ledger has an event of the change. Takes the ledger's lock, and so waits for a commit in
 * progress. Undefined for changes without an event, which can be made twice, and while there is no such
 * ledger: a commit in progress may create it, and another attempt waits for that commit.
 */
async function wasCommitted<Change extends object, Result>({
  database,
  kind,
  change,
}: Commit<Change, Result>): Promise<boolean | undefined> {
  const [ledgerId] = kind.ledgers(change)
  if (!hasOrigin(change) || ledgerId === undefined) return undefined
  const { requestId } = change.origin
  return database.inTransaction({}, async (db) => {
    if ((await lockLedger(db, ledgerId)) === undefined) return undefined
    const events = db
      .selectFrom('event')
      .select('revision')
      .where('project_id', '=', ledgerId)
      .where('request_id', '=', requestId)
    const own = kind.events(change)
    return exists(
      'types' in own
        ? events.where('type', 'in', own.types)
        : events.where('subject_id', 'in', own.subjects),
    )
  })
}
