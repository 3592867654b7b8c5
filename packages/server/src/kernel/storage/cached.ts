import { LRUCache } from 'lru-cache'
import { createDoorkeeper } from '../../async/doorkeeper.ts'
import { createSingleFlight } from '../../async/single-flight.ts'
import { findProjectRecord } from '../access/stored-projects.ts'
import type { Store } from '../context.ts'
import { projectNamePattern } from '../contract.ts'
import { systemLedgerId } from '../ledger/chain.ts'
import type { ProjectIdentity } from '../records.ts'
import { oneFor } from '../shared.ts'
import { readEach } from './each.ts'
import type { Db, Table } from './schema.ts'
import { ping } from './statements.ts'

/** How an engine reads the heads of ledgers, which validate every cached copy. */
export type LedgerHeads = Pick<Store, 'heads' | 'headsMatch'>

const maxProjects = 20_000

/** Something of a project is cached if it was read among the last this many projects. */
const admissionWindow = 4_000

/**
 * The reads that all stores share. Each use of a cached copy is validated by the head of its ledger,
 * read after the request arrived: every change changes a head. So a read costs the database next to
 * nothing and sees every change acknowledged before it, by any process. The hash is compared and not
 * the revision, since a fail-over that loses changes assigns their revisions to other changes.
 */
export function commonReads(reader: Db, ledgerHeads: LedgerHeads, tables: readonly Table[]) {
  const store = { reader, ...ledgerHeads }
  return {
    ...store,
    ping: () => ping(reader, tables),
    published: {
      heads: ledgerHeads.heads,
      newest: (ids, read) => readEach(ids, (some) => read(reader, some)),
    },
    identifyProject: createIdentityCache(store),
  } satisfies Partial<Store>
}

async function readHead({ heads }: Pick<Store, 'heads'>, ledgerId: string) {
  return (await heads([ledgerId])).get(ledgerId)?.hash
}

/**
 * A project that is created, renamed or deleted has an event in the system ledger, so its identity costs
 * no read while that is unchanged. The head is read before the project.
 */
function createIdentityCache(store: HeadReader): Store['identifyProject'] {
  const known = new LRUCache<string, ProjectIdentity & { head: string | undefined }>({
    max: maxProjects,
  })
  return async (ref, systemHead) => {
    // PostgreSQL rejects some texts, such as NUL, and no project has such a name.
    if ('name' in ref && !projectNamePattern.test(ref.name)) return undefined
    const head = systemHead ?? (await readHead(store, systemLedgerId))
    // No project has a name in the form of an id.
    const key = 'id' in ref ? ref.id : ref.name
    const cached = known.get(key)
    if (cached !== undefined && cached.head === head) return cached
    const project = await findProjectRecord(store.reader, ref)
    if (project !== undefined) known.set(key, { id: project.id, name: project.name, head })
    return project
  }
}

type HeadReader = Pick<Store, 'reader' | 'heads'>

interface CachedRead<Value> {
  /** `earlier`: what was cached for an earlier head. */
  read(db: Db, projectId: string, earlier?: Value): Promise<Value | undefined>
  bytes(value: Value): number
  maxBytes: number
  /** The first read of a project is cached too. */
  isCostly?: true
}

/** A read of a project, whose results are cached for each database. `head`: that of the project's ledger. */
export function cachedByHead<Value extends { head: string }>({
  read,
  bytes,
  maxBytes,
  isCostly,
}: CachedRead<Value>): (store: HeadReader, projectId: string) => Promise<Value | undefined> {
  const cacheOf = oneFor((_reader: Db) => ({
    values: new LRUCache<string, Value>({ maxSize: maxBytes, sizeCalculation: bytes }),
    doorkeeper: createDoorkeeper(admissionWindow),
    queries: createSingleFlight<Value | undefined>(),
  }))
  return async (store, projectId) => {
    const { values, doorkeeper, queries } = cacheOf(store.reader)
    const head = await readHead(store, projectId)
    const cached = values.get(projectId)
    if (cached !== undefined && cached.head === head) return cached
    if (head === undefined) {
      values.delete(projectId)
      return undefined
    }
    // Only callers that have read the same head share a query: for others it may be too old.
    return queries.run(`${projectId} ${head}`, async () => {
      const value = await read(store.reader, projectId, cached)
      // Carries the head that it was read with, which may be newer than the one that was compared.
      const isAdmitted = isCostly || values.has(projectId) || doorkeeper.seenRecently(projectId)
      if (value === undefined) values.delete(projectId)
      else if (isAdmitted) values.set(projectId, value)
      return value
    })
  }
}
