import { LRUCache } from 'lru-cache'
import { createDoorkeeper } from '../../async/doorkeeper.ts'
import { createSingleFlight } from '../../async/single-flight.ts'
import type { Store } from '../../core/context.ts'
import { type KeySet, keySetBytes, type ProjectSnapshot } from '../../core/records.ts'
import type { StoreReads } from './store.ts'

/** How an engine reads the heads of ledgers, which validate every cached copy. */
export type LedgerHeads = Pick<Store, 'heads' | 'headsMatch'>

const maxKeySetBytes = 32 * 1024 * 1024
const maxProjects = 20_000

/** A key set is cached if its project was read among the last this many projects. */
const admissionWindow = 4_000

type UncachedReads = Pick<StoreReads, 'findProject' | 'keySet' | 'events'>
type CachedReads = Pick<Store, 'findProject' | 'keySet' | 'heads' | 'headsMatch' | 'published'>
type ReadHead = (ledgerId: string) => Promise<string | undefined>

/**
 * Caches projects and their keys. Each use is validated by the head of the project's ledger, read
 * after the call: every change of a project changes its head. So a read costs the database next to
 * nothing and sees every change acknowledged before it, by any process. The hash is compared and not
 * the revision, since a fail-over that loses changes assigns their revisions to other changes.
 */
export function createCachedReads(reads: UncachedReads, ledgerHeads: LedgerHeads): CachedReads {
  const readHead: ReadHead = async (ledgerId) =>
    (await ledgerHeads.heads([ledgerId])).get(ledgerId)?.hash
  return {
    ...ledgerHeads,
    published: { heads: ledgerHeads.heads, keySet: reads.keySet, events: reads.events },
    findProject: createProjectCache(reads, readHead),
    keySet: createKeySetCache(reads, readHead),
  }
}

function createProjectCache(reads: UncachedReads, readHead: ReadHead): Store['findProject'] {
  const projects = new LRUCache<string, ProjectSnapshot>({ max: maxProjects })
  const ids = new LRUCache<string, string>({ max: maxProjects })
  return async (ref) => {
    const id = 'id' in ref ? ref.id : ids.get(ref.name)
    const cached = id === undefined ? undefined : projects.get(id)
    // As long as a project keeps its name, no other project has it.
    const isSameName = 'id' in ref || cached?.name === ref.name
    if (cached !== undefined && cached.head === (await readHead(cached.id)) && isSameName) {
      return cached
    }
    // One query in either case: its time must not reveal whether the project exists.
    const found = await reads.findProject(ref)
    if (found === undefined) return undefined
    projects.set(found.id, found)
    ids.set(found.name, found.id)
    return found
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
