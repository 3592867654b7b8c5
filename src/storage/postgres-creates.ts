import type { ChangeOf } from '../core/changes.ts'
import type { KeyRecord } from '../core/records.ts'
import { applyChange } from './apply.ts'
import { kyselyOver } from './postgres-dialect.ts'
import type { PostgresSessions } from './postgres-sessions.ts'
import { UnclearCommit, type Unconfirmed } from './postgres-transaction.ts'
import { allAtOnce } from './statements.ts'

type Create = ChangeOf<'key.create'>

/** Keys that are created in one transaction at most. */
const maxTogether = 32

interface Waiting {
  change: Create
  resolve(created: Promise<KeyRecord>): void
  reject(error: unknown): void
}

interface Ways {
  /** Resolves with what ends the turn; rejects where none comes in time. */
  takeTurn(): Promise<() => void>
  /** Creates a key in a transaction of its own, once it is clear what came of an earlier try. */
  alone(change: Create, earlier?: Unconfirmed<KeyRecord>): Promise<KeyRecord>
}

/**
 * Creates keys, no two of them in one project at the same time. All that wait for a turn are created in
 * one transaction by the first that gets one, with no more round trips than one key takes. Where that
 * comes to nothing, since one of them is refused or its project is locked elsewhere, each is created
 * alone: all that a key can suffer for another one is to wait for one statement's time-out.
 */
export function createCreates(sessions: PostgresSessions, { takeTurn, alone }: Ways) {
  const waiting = new Set<Waiting>()

  async function createWaiting(asking: Waiting): Promise<void> {
    const done = await takeTurn().catch((error: unknown) => {
      if (waiting.delete(asking)) asking.reject(error)
    })
    if (done === undefined) return
    // None where another one's turn has served this one as well.
    const creates = [...waiting].slice(0, maxTogether)
    for (const create of creates) waiting.delete(create)
    // In one order, so that those of two processes do not wait for one another's ledgers crosswise.
    await createTogether(creates.sort(byProject)).finally(done)
  }
  async function createTogether(creates: Waiting[]): Promise<void> {
    const tries = await tryTogether(
      sessions,
      creates.map(({ change }) => change),
    )
    const created = creates.map(({ change }, index) => {
      const tried = tries?.[index]
      if (tried !== undefined && !('error' in tried)) return Promise.resolve(tried.result)
      // The first has the turn, the others wait for one each.
      return index === 0 ? alone(change, tried) : createAlone(change, tried)
    })
    for (const [index, each] of created.entries()) creates[index]?.resolve(each)
    await Promise.allSettled(created.slice(0, 1))
  }
  async function createAlone(change: Create, earlier?: Unconfirmed<KeyRecord>): Promise<KeyRecord> {
    const done = await takeTurn()
    return alone(change, earlier).finally(done)
  }
  return (change: Create): Promise<KeyRecord> =>
    new Promise((resolve, reject) => {
      const asking = { change, resolve, reject }
      waiting.add(asking)
      void createWaiting(asking)
    })
}

function byProject({ change: a }: Waiting, { change: b }: Waiting): number {
  return a.key.projectId < b.key.projectId ? -1 : 1
}

/** What came of each; undefined where nothing was kept, or there are not two. */
async function tryTogether(
  sessions: PostgresSessions,
  changes: Create[],
): Promise<({ result: KeyRecord } | Unconfirmed<KeyRecord>)[] | undefined> {
  if (changes.length < 2) return undefined
  const transaction = await sessions.begin().catch(() => undefined)
  if (transaction === undefined) return undefined
  const db = kyselyOver(transaction.query)
  const steps = changes.map((change) => () => applyChange<'key.create'>(db, change))
  const outcomes = await allAtOnce(steps).catch(() => undefined)
  if (outcomes === undefined) {
    await transaction.rollback()
    return undefined
  }
  try {
    await transaction.commit()
    return outcomes.map(({ result }) => ({ result }))
  } catch (error) {
    if (!(error instanceof UnclearCommit)) return undefined
    return outcomes.map(({ result }) => ({ result, error }))
  }
}
