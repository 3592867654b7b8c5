import { setTimeout as delay } from 'node:timers/promises'
import { createKeyedSemaphore, createSemaphore } from '../../../async/semaphore.ts'
import type { Appliers } from '../../changes.ts'
import type { Store } from '../../context.ts'
import type { Change, ChangeOf, ChangeResults, ChangeType, Origin } from '../../ledger/changes.ts'
import { ledgersOf } from '../../ledger/commit-notices.ts'
import { lockLedger } from '../../ledger/locked-ledger.ts'
import { isStorageUnavailable } from '../../storage-faults.ts'
import { applyChange } from '../apply.ts'
import type { Db } from '../schema.ts'
import type { PostgresAddress } from './address.ts'
import { type PostgresDatabase, UnconfirmedCommit } from './database.ts'
import { createKysely } from './dialect.ts'
import { classify, databaseBusy, queueFull, toStorageError, unconfirmedChange } from './errors.ts'

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
 * Changes of one ledger run one after another in any case, so they queue here instead of each on a
 * connection. Half of the connections remain for reads.
 */
export function createCommit(
  appliers: Appliers,
  database: PostgresDatabase,
  { poolSize, connectTimeoutMs }: PostgresAddress,
): Pick<Store, 'commit' | 'isWritable'> {
  // A change waits this long for its ledger, and again for a connection; longer than a read.
  const acquireTimeoutMs = 1.5 * connectTimeoutMs
  const queue = { maxWaiting, fullError: queueFull, timeoutError: databaseBusy }
  const connections = createSemaphore({ permits: Math.ceil(poolSize / 2), ...queue })
  const ledgers = createKeyedSemaphore({ permits: 1, ...queue })
  let isWritable = true

  async function withConnection<Result>(work: () => Promise<Result>): Promise<Result> {
    const release = await connections.acquire(acquireTimeoutMs)
    try {
      return await work()
    } finally {
      release()
    }
  }
  return {
    async commit<T extends ChangeType>(change: ChangeOf<T>) {
      const [ledgerId = 'none'] = ledgersOf(change)
      const unlock = await ledgers.acquire(ledgerId, acquireTimeoutMs)
      try {
        const result = await withConnection(() => commitWithRetries<T>(appliers, database, change))
        isWritable = true
        return result
      } catch (error) {
        isWritable = !isStorageUnavailable(error)
        throw error
      } finally {
        unlock()
      }
    },
    isWritable: () => isWritable,
  }
}

async function commitWithRetries<T extends ChangeType>(
  appliers: Appliers,
  database: PostgresDatabase,
  change: ChangeOf<T> & Change,
): Promise<ChangeResults[T]> {
  const deadline = performance.now() + retryWindowMs
  let unconfirmed: Unconfirmed<ChangeResults[T]> | undefined
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, maxPauseMs)) {
    const canRetry = () => performance.now() < deadline
    try {
      if (unconfirmed !== undefined && (await wasCommitted(database, change))) {
        return unconfirmed.result
      }
      const outcome = await attempt<T>(appliers, database, change)
      if (!('error' in outcome)) return outcome.result
      unconfirmed = outcome
      if (!canRetry()) throw unconfirmedChange(unconfirmed.error)
    } catch (error) {
      if (!(isRetryable(error, unconfirmed !== undefined) && canRetry())) {
        if (unconfirmed === undefined) throw toStorageError(error)
        return settle(database, change, unconfirmed, error)
      }
      await delay(pauseMs * Math.random())
    }
  }
}

/** A database that cannot be reached is waited for only if that decides whether a change was made. */
function isRetryable(error: unknown, isUnconfirmed: boolean): boolean {
  const retryable = ['lost', 'read-only', 'conflict', ...(isUnconfirmed ? ['unavailable'] : [])]
  return retryable.includes(classify(error))
}

/** The outcome when an attempt was not confirmed and a later one failed with the error. */
async function settle<Result>(
  database: PostgresDatabase,
  change: Change,
  unconfirmed: Unconfirmed<Result>,
  error: unknown,
): Promise<Result> {
  if (classify(error) !== 'other') throw unconfirmedChange(unconfirmed.error)
  // Perhaps rejected because of the first attempt, which may have taken the name itself.
  const isCommitted = await wasCommitted(database, change).catch(() => {
    throw unconfirmedChange(unconfirmed.error)
  })
  if (isCommitted) return unconfirmed.result
  throw error
}

async function attempt<T extends ChangeType>(
  appliers: Appliers,
  database: PostgresDatabase,
  change: ChangeOf<T> & Change,
): Promise<{ result: ChangeResults[T] } | Unconfirmed<ChangeResults[T]>> {
  const transaction = await database.begin()
  const applied = applyChange<T>(appliers, createKysely(transaction.query), change)
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
 * Whether the ledger has the change's event. Takes the ledger's lock, and so waits for a commit in
 * progress. Changes without an event can be made twice.
 */
async function wasCommitted(database: PostgresDatabase, change: Change): Promise<boolean> {
  const [ledgerId] = ledgersOf(change)
  if (!('origin' in change) || ledgerId === undefined) return false
  return database.inTransaction({}, async (db) => {
    await lockLedger(db, ledgerId)
    return hasEvent(db, ledgerId, change)
  })
}

async function hasEvent(
  db: Db,
  ledgerId: string,
  change: Change & { origin: Origin },
): Promise<boolean> {
  const events = db
    .selectFrom('event')
    .select('revision')
    .where('project_id', '=', ledgerId)
    .where('request_id', '=', change.origin.requestId)
    .limit(1)
  const row = await (change.type === 'key.update' || change.type === 'key.delete'
    ? events.where('type', 'in', ['key.updated', 'key.deleted'])
    : events.where('subject_id', 'in', subjectIdsOf(change, ledgerId))
  ).executeTakeFirst()
  return row !== undefined
}

/**
 * Subjects of the change's events. Together with the request id they identify the change, except
 * one that may name its key by `publishedKid` instead of its id.
 */
function subjectIdsOf(change: Change & { origin: Origin }, ledgerId: string): string[] {
  if (change.type === 'key.create') return [change.key.id]
  if (change.type === 'key.import') return change.keys.map(({ key }) => key.id)
  if (change.type === 'key.report_weakness') return [change.kid]
  if (change.type === 'api_key.create') return [change.apiKey.id]
  return ['id' in change ? change.id : ledgerId]
}
