import { projectChanges } from '../../../packages/server/src/features/projects/changes.ts'
import type { Origin } from '../../../packages/server/src/kernel/changes.ts'
import type { Store } from '../../../packages/server/src/kernel/context.ts'
import { newId } from '../../../packages/server/src/kernel/values/ids.ts'
import { openStore } from '../../../packages/server/src/registry.ts'
import { endLater } from '../ending.ts'
import { createDatabase, type TestDatabase } from './database.ts'

export interface TestStore {
  store: Store
  database: TestDatabase
  /** Closes the store, and removes the database if `openTestStore` has created it. */
  dispose(): Promise<void>
}

/** Opens a store on the database, by default on a new one. It ends after the test or file. */
export async function openTestStore(existing?: TestDatabase): Promise<TestStore> {
  const database = existing ?? (await createDatabase())
  const opened = await openStore(database.url)
  const store = { ...opened, close: endLater(() => opened.close()) }
  return {
    store,
    database,
    async dispose() {
      await store.close()
      if (existing === undefined) await database.remove()
    },
  }
}

export const limits = { maxKeys: 50, maxJwksBytes: 51_200 }

export function origin(time = '2026-01-02T03:04:05.678Z'): Origin {
  return { actor: { name: 'test' }, requestId: newId(), time }
}

/** The name may be one that another project has just given up. */
export async function createProject(store: Store, name: string) {
  const creation = { origin: origin(), id: newId(), name, release: true as const }
  return store.commit(projectChanges.createProject, creation)
}
