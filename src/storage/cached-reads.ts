import type { Kysely } from 'kysely'
import { LRUCache } from 'lru-cache'
import type { ProjectRef } from '../core/context.ts'
import type { KeySet, ProjectRecord } from '../core/records.ts'
import { createLookup, type Lookup } from '../core/revision-lookup.ts'
import { projectRecord, projects, type Reads } from './reads.ts'
import type { Tables } from './schema.ts'

/** Bound of the key sets that are kept, in bytes, with what is made of them; and of projects. */
const maxKeySetBytes = 64 * 1024 * 1024
const maxProjects = 50_000

/** Ledgers that one query asks for. */
const maxParameters = 500

/** What was read, and the hash of the ledger's last event at that time or from before. */
interface Kept<Value> {
  head: string
  value: Value
}

type Cached = Pick<Reads, 'findProject' | 'keySet' | 'revisions'>

export interface Head {
  revision: number
  hash: string
}

/**
 * Projects and their keys from memory, each use after a look at the head of the project's ledger
 * that began no earlier: whatever changes of a project changes its head. It is the hash that is
 * compared and not the revision, since a fail-over that loses changes gives their revisions to
 * others. So a read costs the database next to nothing, and sees every change that was acknowledged
 * before it, wherever that was made. How `heads` looks is for the engine to say.
 */
export function createCachedReads(
  db: Kysely<Tables>,
  reads: Pick<Reads, 'keySet'>,
  heads: Lookup<Head>,
): Cached {
  const keySets = new LRUCache<string, Kept<KeySet>>({
    maxSize: maxKeySetBytes,
    sizeCalculation: ({ value }) => keySetBytes(value),
  })
  const reading = new Map<string, Kept<Promise<KeySet | undefined>>>()
  const found = new LRUCache<string, Kept<ProjectRecord>>({ max: maxProjects })
  const ids = new LRUCache<string, string>({ max: maxProjects })

  /** The project that is kept, if it is still the same. */
  async function unchanged(id: string | undefined): Promise<ProjectRecord | undefined> {
    const kept = id === undefined ? undefined : found.get(id)
    if (id === undefined || kept === undefined) return undefined
    return kept.head === (await heads.current(id))?.hash ? kept.value : undefined
  }
  /** One query, whether there is such a project or not: how long it takes tells nothing. */
  async function read(ref: ProjectRef): Promise<ProjectRecord | undefined> {
    const all = projects(db).select('ledger.hash')
    const query =
      'id' in ref ? all.where('project.id', '=', ref.id) : all.where('project.name', '=', ref.name)
    const row = await query.executeTakeFirst()
    if (row === undefined) return undefined
    const value = projectRecord(row)
    found.set(value.id, { head: row.hash, value })
    ids.set(value.name, value.id)
    return value
  }
  /** One query for all who miss the same state of a project. */
  async function readOnce(projectId: string, head: string): Promise<KeySet | undefined> {
    const running = reading.get(projectId)
    if (running?.head === head) return running.value
    const started = { head, value: reads.keySet(projectId) }
    reading.set(projectId, started)
    try {
      const value = await started.value
      // Under the head that it was read with: a change may have come since the look.
      if (value !== undefined) keySets.set(projectId, { head: value.head, value })
      return value
    } finally {
      if (reading.get(projectId) === started) reading.delete(projectId)
    }
  }

  return {
    async revisions(ledgerIds) {
      const found = await Promise.all(ledgerIds.map((id) => heads.current(id)))
      return new Map(
        ledgerIds.flatMap((id, index) => {
          const head = found[index]
          return head === undefined ? [] : [[id, head.revision] as const]
        }),
      )
    },
    async findProject(ref) {
      // As long as a project keeps its name, no other has it.
      const kept = await unchanged('id' in ref ? ref.id : ids.get(ref.name))
      if (kept !== undefined && ('id' in ref || kept.name === ref.name)) return kept
      return read(ref)
    },
    async keySet(projectId) {
      const head = (await heads.current(projectId))?.hash
      const kept = keySets.get(projectId)
      if (kept !== undefined && kept.head === head) return kept.value
      keySets.delete(projectId)
      return head === undefined ? undefined : readOnce(projectId, head)
    },
  }
}

/**
 * Octets that a key set takes at most, roughly: records and what is made of them for the list, the
 * list of active keys and each key, all of which hold the PEM, and a JWK of about its size.
 */
export function keySetBytes({ keys }: KeySet): number {
  return keys.reduce((sum, key) => sum + 4_000 + 6 * key.publicKeyPem.length, 1_000)
}

/** One query at a time for everybody who waits. */
export function createCoalescedHeads(db: Kysely<Tables>): Lookup<Head> {
  return createLookup((ids) => readHeads(db, ids))
}

export async function readHeads(
  db: Kysely<Tables>,
  ids: readonly string[],
): Promise<Map<string, Head>> {
  const heads = new Map<string, Head>()
  for (let start = 0; start < ids.length; start += maxParameters) {
    const rows = await db
      .selectFrom('ledger')
      .select(['project_id', 'revision', 'hash'])
      .where('project_id', 'in', ids.slice(start, start + maxParameters))
      .execute()
    for (const { project_id, revision, hash } of rows) heads.set(project_id, { revision, hash })
  }
  return heads
}
