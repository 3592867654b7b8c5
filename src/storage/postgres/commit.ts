import { setTimeout as delay } from 'node:timers/promises'
import type { Kysely } from 'kysely'
import { createKeyedSemaphore, createSemaphore } from '../../async/semaphore.ts'
import type { Store } from '../../core/context.ts'
import type {
  Change,
  ChangeOf,
  ChangeResults,
  ChangeType,
  Origin,
} from '../../core/ledger/changes.ts'
import { ledgersOf } from '../../core/ledger/commit-notices.ts'
import { isStorageUnavailable } from '../../core/storage-faults.ts'
import { applyChange } from '../changes/apply.ts'
import { lockLedger } from '../changes/ledger.ts'
import type { Tables } from '../schema.ts'
import type { PostgresDatabase } from './database.ts'
import { createKysely } from './dialect.ts'
import { classify, databaseBusy, queueFull, toStorageError, unconfirmedChange } from './errors.ts'
import { UnconfirmedCommit } from './transaction.ts'

/** How often a change is tried, and the milliseconds within which a further try may begin. */
const maxTries = 5
const retryWindow = 4_000

/** Milliseconds that a change waits for those before it on its ledger, and then for a connection. */
const acquireTimeoutMs = 3_000

/** Changes that may wait. */
const maxWaiting = 4_096

/** A try whose commit was not confirmed: what it answered, and the error that said so. */
interface Unconfirmed<Result> {
  result: Result
  error: UnconfirmedCommit
}

/**
 * Carries out changes, each in a transaction of its own. One that lost its connection before its
 * commit was sent, or met another one, is carried out again from its beginning. Where the answer to
 * the commit itself was lost, the ledger tells whether it took place. Changes of one ledger come one
 * after the other anyway, so they wait for each other here and not on a connection each; and half of
 * the connections are for reading, however many changes there are.
 */
export function createCommit(
  sessions: PostgresDatabase,
  poolSize: number,
): Pick<Store, 'commit' | 'isWritable'> {
  const queue = { maxWaiting, fullError: queueFull, timeoutError: databaseBusy }
  const connections = createSemaphore({ permits: Math.ceil(poolSize / 2), ...queue })
  const ledgers = createKeyedSemaphore({ permits: 1, ...queue })
  let writable = true

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
        const result = await withConnection(() => carryOut<T>(sessions, change))
        writable = true
        return result
      } catch (error) {
        writable = !isStorageUnavailable(error)
        throw error
      } finally {
        unlock()
      }
    },
    isWritable: () => writable,
  }
}

async function carryOut<T extends ChangeType>(
  sessions: PostgresDatabase,
  change: ChangeOf<T> & Change,
): Promise<ChangeResults[T]> {
  const deadline = performance.now() + retryWindow
  let unconfirmed: Unconfirmed<ChangeResults[T]> | undefined
  for (let tries = 1; ; tries += 1) {
    const mayGoOn = () => tries < maxTries && performance.now() < deadline
    try {
      if (unconfirmed !== undefined && (await tookPlace(sessions, change))) {
        return unconfirmed.result
      }
      const attempt = await tryOnce<T>(sessions, change)
      if (!('error' in attempt)) return attempt.result
      unconfirmed = attempt
      if (!mayGoOn()) throw unconfirmedChange(unconfirmed.error)
    } catch (error) {
      if (!(isRepeatable(error) && mayGoOn())) {
        if (unconfirmed === undefined) throw toStorageError(error)
        return settle(sessions, change, unconfirmed, error)
      }
      await delay(20 * 2 ** tries * Math.random())
    }
  }
}

function isRepeatable(error: unknown): boolean {
  return ['lost', 'read-only', 'conflict'].includes(classify(error))
}

/** What to say at last where one try was not confirmed and a later one failed. */
async function settle<Result>(
  sessions: PostgresDatabase,
  change: Change,
  unconfirmed: Unconfirmed<Result>,
  error: unknown,
): Promise<Result> {
  if (classify(error) !== 'other') throw unconfirmedChange(unconfirmed.error)
  // A refusal of the repetition: of what the first try did, perhaps (its name is taken: by itself).
  const written = await tookPlace(sessions, change).catch(() => {
    throw unconfirmedChange(unconfirmed.error)
  })
  if (written) return unconfirmed.result
  throw error
}

async function tryOnce<T extends ChangeType>(
  sessions: PostgresDatabase,
  change: ChangeOf<T> & Change,
): Promise<{ result: ChangeResults[T] } | Unconfirmed<ChangeResults[T]>> {
  const transaction = await sessions.begin()
  const outcome = await applyChange<T>(createKysely(transaction.query), change).catch(
    async (error) => {
      await transaction.rollback()
      throw error
    },
  )
  const { result } = outcome
  if (!outcome.changed) {
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
 * Whether the change's event stands in its ledger, asked under the ledger's lock: a commit that is
 * still under way is waited for. Changes without an event can be carried out twice.
 */
async function tookPlace(sessions: PostgresDatabase, change: Change): Promise<boolean> {
  const [ledgerId] = ledgersOf(change)
  if (!('origin' in change) || ledgerId === undefined) return false
  const transaction = await sessions.begin()
  try {
    const db = createKysely(transaction.query)
    await lockLedger(db, ledgerId)
    return await isWritten(db, ledgerId, change)
  } finally {
    await transaction.rollback()
  }
}

async function isWritten(
  db: Kysely<Tables>,
  ledgerId: string,
  change: Change & { origin: Origin },
): Promise<boolean> {
  const row = await db
    .selectFrom('event')
    .select('revision')
    .where('project_id', '=', ledgerId)
    .where('request_id', '=', change.origin.requestId)
    .where('subject_id', 'in', subjectsOf(change, ledgerId))
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** Subjects of the change's events; with the request's id, which is made here, they are unique. */
function subjectsOf(change: Change & { origin: Origin }, ledgerId: string): string[] {
  if (change.type === 'key.create') return [change.key.id]
  if (change.type === 'key.import') return change.keys.map(({ key }) => key.id)
  if (change.type === 'api_key.create') return [change.apiKey.id]
  if ('kid' in change) return [change.kid]
  return ['id' in change ? change.id : ledgerId]
}
