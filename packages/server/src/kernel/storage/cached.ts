import { LRUCache } from 'lru-cache'
import { createDoorkeeper } from '../../async/doorkeeper.ts'
import { createSingleFlight } from '../../async/single-flight.ts'
import type { Store, StoreReads } from '../context.ts'
import { systemLedgerId } from '../ledger/chain.ts'
import { readEvents } from '../ledger/event-reads.ts'
import { type KeySet, keySetBytes, type ProjectIdentity } from '../records.ts'
import { findProjectRecord } from './reads.ts'
import type { Db } from './schema.ts'

/** How an engine reads the heads of ledgers, which validate every cached copy. */
export type LedgerHeads = Pick<Store, 'heads' | 'headsMatch'>

const maxKeySetBytes = 32 * 1024 * 1024
const maxProjects = 20_000

/** A key set is cached if its project was read among the last this many projects. */
const admissionWindow = 4_000

type UncachedReads = Pick<StoreReads, 'keySet'>
type CachedReads = Pick<Store, 'identifyProject' | 'keySet' | 'heads' | 'headsMatch' | 'published'>
type ReadHead = (ledgerId: string) => Promise<string | undefined>

/**
 * Caches the identity and the keys of projects. Each use is validated by the head of its ledger,
 * read after the request arrived: every change changes a head. So a read costs the database next to
 * nothing and sees every change acknowledged before it, by any process. The hash is compared and not
 * the revision, since a fail-over that loses changes assigns their revisions to other changes.
 */
export function createCachedReads(
  db: Db,
  reads: UncachedReads,
  ledgerHeads: LedgerHeads,
): CachedReads {
  const readHead: ReadHead = async (ledgerId) =>
    (await ledgerHeads.heads([ledgerId])).get(ledgerId)?.hash
  return {
    ...ledgerHeads,
    published: {
      heads: ledgerHeads.heads,
      keySet: reads.keySet,
      events: (ledgerId, page) => readEvents(db, ledgerId, page),
    },
    identifyProject: createIdentityCache(db, readHead),
    keySet: createKeySetCache(reads, readHead),
  }
}

/**
 * A project that is created, renamed or deleted has an event in the system ledger, so its identity costs
 * no read while that is unchanged. The head is read before the project.
 */
function createIdentityCache(db: Db, readHead: ReadHead): Store['identifyProject'] {
  const known = new LRUCache<string, ProjectIdentity & { head: string | undefined }>({
    max: maxProjects,
  })
  return async (ref, systemHead) => {
    const head = systemHead ?? (await readHead(systemLedgerId))
    // No project has a name in the form of an id.
    const key = 'id' in ref ? ref.id : ref.name
    const cached = known.get(key)
    if (cached !== undefined && cached.head === head) return cached
    const project = await findProjectRecord(db, ref)
    if (project !== undefined) known.set(key, { id: project.id, name: project.name, head })
    return project
  }
}

function createKeySetCache(reads: UncachedReads, readHead: ReadHead): Store['keySet'] {
  const keySets = new LRUCache<string, KeySet>({
    maxSize: maxKeySetBytes,
    sizeCalculation: cachedBytes,
  })
  const doorkeeper = createDoorkeeper(admissionWindow)
  const queries = createSingleFlight<KeySet | undefined>()

  async function load(projectId: string): Promise<KeySet | undefined> {
    const keySet = await reads.keySet(projectId)
    // Carries the head that it was read with, which may be newer than the one that was compared.
    if (keySet !== undefined && doorkeeper.seenRecently(projectId)) keySets.set(projectId, keySet)
    return keySet
  }
  return async (projectId) => {
    const head = await readHead(projectId)
    const cached = keySets.get(projectId)
    if (cached !== undefined && cached.head === head) return cached
    keySets.delete(projectId)
    if (head === undefined) return undefined
    // Only callers that have read the same head share a query: for others it may be too old.
    return queries.run(`${projectId} ${head}`, () => load(projectId))
  }
}

/** Includes the bodies made of it: the list, the list of active keys, and each key, all with PEM. */
export function cachedBytes(keySet: KeySet): number {
  return 3 * keySetBytes(keySet)
}
