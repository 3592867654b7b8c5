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

type CachedReads = Pick<Store, 'findProject' | 'keySet' | 'heads' | 'headsMatch' | 'published'>

/**
 * Caches projects and their keys. Each use is validated by the head of the project's ledger, read
 * after the call: every change of a project changes its head. So a read costs the database next to
 * nothing and sees every change acknowledged before it, by any process. The hash is compared and not
 * the revision, since a fail-over that loses changes assigns their revisions to other changes.
 */
export function createCachedReads(
  reads: Pick<StoreReads, 'findProject' | 'keySet'>,
  ledgerHeads: LedgerHeads,
): CachedReads {
  const keySets = new LRUCache<string, KeySet>({
    maxSize: maxKeySetBytes,
    sizeCalculation: cachedBytes,
  })
  const doorkeeper = createDoorkeeper(admissionWindow)
  const queries = createSingleFlight<KeySet | undefined>()
  const projects = new LRUCache<string, ProjectSnapshot>({ max: maxProjects })
  const ids = new LRUCache<string, string>({ max: maxProjects })

  async function headOf(ledgerId: string): Promise<string | undefined> {
    return (await ledgerHeads.heads([ledgerId])).get(ledgerId)?.hash
  }
  async function cachedProject(id: string | undefined): Promise<ProjectSnapshot | undefined> {
    const cached = id === undefined ? undefined : projects.get(id)
    if (cached === undefined) return undefined
    return cached.head === (await headOf(cached.id)) ? cached : undefined
  }
  async function loadKeySet(projectId: string): Promise<KeySet | undefined> {
    const keySet = await reads.keySet(projectId)
    // Carries the head that it was read with, which may be newer than the one that was compared.
    if (keySet !== undefined && doorkeeper.seenRecently(projectId)) keySets.set(projectId, keySet)
    return keySet
  }

  return {
    ...ledgerHeads,
    published: { heads: ledgerHeads.heads, keySet: reads.keySet },
    async findProject(ref) {
      // As long as a project keeps its name, no other project has it.
      const cached = await cachedProject('id' in ref ? ref.id : ids.get(ref.name))
      if (cached !== undefined && ('id' in ref || cached.name === ref.name)) return cached
      // One query in either case: its time must not reveal whether the project exists.
      const found = await reads.findProject(ref)
      if (found === undefined) return undefined
      projects.set(found.id, found)
      ids.set(found.name, found.id)
      return found
    },
    async keySet(projectId) {
      const head = await headOf(projectId)
      const cached = keySets.get(projectId)
      if (cached !== undefined && cached.head === head) return cached
      keySets.delete(projectId)
      if (head === undefined) return undefined
      // Only callers that have read the same head share a query: to others it may be too old.
      return queries.run(`${projectId} ${head}`, () => loadKeySet(projectId))
    },
  }
}

/** Includes the bodies made of it: the list, the list of active keys, and each key, all with PEM. */
export function cachedBytes(keySet: KeySet): number {
  return 3 * keySetBytes(keySet)
}
