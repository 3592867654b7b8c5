import { entityTag } from '../../core/entity-tags.ts'
import { jwksText } from '../../core/keys/jwks.ts'
import { systemLedgerId } from '../../core/ledger/chain.ts'
import { verifyLedgers } from '../../core/ledger/verification.ts'
import { openStore } from '../open.ts'
import { createLedgerReads } from '../reads/ledger.ts'
import { readKeySet } from '../reads/store.ts'
import { type Db, type TableName, tableNames } from '../schema.ts'
import { openCopyEndpoint } from './endpoints.ts'
import { countRows, insertRows, pages, type Row, rowText } from './tables.ts'

/** Told of every page: what is done, with which table, and how many of its rows. */
export type CopyListener = (
  stage: 'copying' | 'checking',
  table: TableName,
  done: number,
  total: number,
) => void

export interface CopySummary {
  /** The target had all of it already: nothing was written. */
  repeated: boolean
  rows: number
  ledgers: number
  keySets: number
}

/**
 * Copies everything from one database to another: ids, times, ledgers with their hashes, digests of
 * API keys, blocked fingerprints, marks of audits. The target must be empty, or hold the same. All
 * is written in one transaction, and compared afterwards: row by row, the chains of the ledgers, the
 * octets of the key sets. Rejects with one line for a person.
 */
export async function copyRegistry(
  fromUrl: string,
  toUrl: string,
  listener: CopyListener,
): Promise<CopySummary> {
  const source = await openCopyEndpoint(fromUrl, 'source')
  try {
    // Makes the schema, where there is none yet.
    await (await openStore(toUrl)).close()
    const target = await openCopyEndpoint(toUrl, 'target')
    try {
      const repeated = !(await isEmpty(target.db))
      if (!repeated) {
        await copyTables(source.db, target.db, listener)
        await target.commit()
      }
      return {
        repeated,
        ...(await check({ source: source.db, target: target.db, repeated, listener })),
      }
    } finally {
      await target.close()
    }
  } finally {
    await source.close()
  }
}

/** A new schema has the head of the system's ledger and nothing else. */
async function isEmpty(db: Db): Promise<boolean> {
  for (const table of tableNames) {
    if (table !== 'ledger' && (await countRows(db, table)) > 0) return false
  }
  return (await countRows(db, 'ledger')) <= 1
}

async function copyTables(source: Db, target: Db, listener: CopyListener): Promise<void> {
  await target.deleteFrom('ledger').where('project_id', '=', systemLedgerId).execute()
  for (const table of tableNames) {
    const total = await countRows(source, table)
    let done = 0
    for await (const rows of pages(source, table)) {
      await insertRows(target, table, rows)
      done += rows.length
      listener('copying', table, done, total)
    }
  }
}

/** The two sides, whether the target had it all before, and who is told of the progress. */
interface Comparison {
  source: Db
  target: Db
  repeated: boolean
  listener: CopyListener
}

async function check(comparison: Comparison): Promise<Omit<CopySummary, 'repeated'>> {
  const { source, target } = comparison
  let rows = 0
  for (const table of tableNames) rows += await compareTable(comparison, table)
  return {
    rows,
    ledgers: await checkLedgers(target),
    keySets: await compareKeySets(source, target),
  }
}

async function compareTable(comparison: Comparison, table: TableName): Promise<number> {
  const { source, target, repeated, listener } = comparison
  const total = await countRows(source, table)
  if ((await countRows(target, table)) !== total) throw different(table, repeated)
  const others = pages(target, table)
  let done = 0
  for await (const page of pages(source, table)) {
    const other = await others.next()
    if (other.done || !isSame(table, page, other.value)) throw different(table, repeated)
    done += page.length
    listener('checking', table, done, total)
  }
  return done
}

function isSame(table: TableName, page: Row[], other: Row[]): boolean {
  if (other.length !== page.length) return false
  return page.every((row, index) => rowText(table, row) === rowText(table, other[index] ?? {}))
}

function different(table: TableName, repeated: boolean): Error {
  return new Error(
    repeated
      ? `The target is not empty, and its table ${table} is not that of the source. Nothing was written; use an empty database.`
      : `The copy of the table ${table} is not that of the source.`,
  )
}

async function checkLedgers(db: Db): Promise<number> {
  let ledgers = 0
  for await (const { ledgerId, broken } of verifyLedgers(createLedgerReads(db))) {
    if (broken !== undefined) {
      throw new Error(`The ledger ${ledgerId} is broken at ${broken.revision}: ${broken.detail}.`)
    }
    ledgers += 1
  }
  return ledgers
}

/** What verifiers get, octet by octet, and the tags by which they know it. */
async function compareKeySets(source: Db, target: Db): Promise<number> {
  const time = new Date().toISOString()
  let compared = 0
  for await (const projects of pages(source, 'project')) {
    for (const { id } of projects) {
      const [left, right] = await Promise.all([
        published(source, String(id), time),
        published(target, String(id), time),
      ])
      if (left === undefined || left !== right) {
        throw new Error(`The key set of the project ${id} is not that of the source.`)
      }
      compared += 1
    }
  }
  return compared
}

async function published(db: Db, projectId: string, time: string): Promise<string | undefined> {
  const keySet = await readKeySet(db, projectId)
  if (keySet === undefined) return undefined
  const text = jwksText(keySet.keys, time)
  return `${keySet.revision} ${entityTag(Buffer.from(text))} ${text}`
}
