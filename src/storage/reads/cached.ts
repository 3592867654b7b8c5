import { LRUCache } from 'lru-cache'
import { createDoorkeeper } from '../../async/doorkeeper.ts'
import type { Store } from '../../core/context.ts'
import { type KeySet, keySetBytes, type ProjectSnapshot } from '../../core/records.ts'
import type { LedgerHeads } from '../heads.ts'
import type { StoreReads } from './store.ts'

/** Bound of the key sets that are kept, in bytes, with what is made of them; and of projects. */
const maxKeySetBytes = 32 * 1024 * 1024
const maxProjects = 20_000

/** Projects that a key set is kept of only when it is read again before so many others. */
const memory = 4_000

type Cached = Pick<Store, 'findProject' | 'keySet' | 'heads' | 'headsMatch' | 'published'>

/**
 * Projects and their keys from memory, each use after a look at the head of the project's ledger
 * that began no earlier: whatever changes of a project changes its head. It is the hash that is
 * compared and not the revision, since a fail-over that loses changes gives their revisions to
 * others. So a read costs the database next to nothing, and sees every change that was acknowledged
 * before it, wherever that was made. How `heads` looks is for the engine to say.
 */
export function createCachedReads(
  reads: Pick<StoreReads, 'findProject' | 'keySet'>,
  heads: LedgerHeads,
): Cached {
  const keySets = new LRUCache<string, KeySet>({
    maxSize: maxKeySetBytes,
    sizeCalculation: cachedBytes,
  })
  const doorkeeper = createDoorkeeper(memory)
  const reading = new Map<string, { head: string; keySet: Promise<KeySet | undefined> }>()
  const projects = new LRUCache<string, ProjectSnapshot>({ max: maxProjects })
  const ids = new LRUCache<string, string>({ max: maxProjects })

  async function headOf(ledgerId: string): Promise<string | undefined> {
    return (await heads.heads([ledgerId])).get(ledgerId)?.hash
  }
  /** The project that is kept, if it is still the same. */
  async function unchanged(id: string | undefined): Promise<ProjectSnapshot | undefined> {
    const kept = id === undefined ? undefined : projects.get(id)
    if (kept === undefined) return undefined
    return kept.head === (await headOf(kept.id)) ? kept : undefined
  }
  /** One query for all who miss the same state of a project. */
  async function readOnce(projectId: string, head: string): Promise<KeySet | undefined> {
    const running = reading.get(projectId)
    if (running?.head === head) return running.keySet
    const started = { head, keySet: reads.keySet(projectId) }
    reading.set(projectId, started)
    try {
      const found = await started.keySet
      // With the head that it was read with: a change may have come since the look.
      if (found !== undefined && doorkeeper.seenRecently(projectId)) keySets.set(projectId, found)
      return found
    } finally {
      if (reading.get(projectId) === started) reading.delete(projectId)
    }
  }

  return {
    ...heads,
    published: { heads: heads.heads, keySet: reads.keySet },
    async findProject(ref) {
      // As long as a project keeps its name, no other has it.
      const kept = await unchanged('id' in ref ? ref.id : ids.get(ref.name))
      if (kept !== undefined && ('id' in ref || kept.name === ref.name)) return kept
      // One query, whether there is such a project or not: how long it takes tells nothing.
      const found = await reads.findProject(ref)
      if (found === undefined) return undefined
      projects.set(found.id, found)
      ids.set(found.name, found.id)
      return found
    },
    async keySet(projectId) {
      const head = await headOf(projectId)
      const kept = keySets.get(projectId)
      if (kept !== undefined && kept.head === head) return kept
      keySets.delete(projectId)
      return head === undefined ? undefined : readOnce(projectId, head)
    },
  }
}

/** With what is made of it for the list, the list of active keys and each key, which all hold the PEM. */
export function cachedBytes(keySet: KeySet): number {
  return 3 * keySetBytes(keySet)
}
