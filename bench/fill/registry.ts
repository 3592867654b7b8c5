import { publishedKeySetTable } from '../../packages/server/src/features/keys/published/stored.ts'
import { keyTable } from '../../packages/server/src/features/keys/stored.ts'
import { projectTable } from '../../packages/server/src/kernel/access/stored-projects.ts'
import { systemLedgerId } from '../../packages/server/src/kernel/ledger/chain.ts'
import { eventTable, ledgerTable } from '../../packages/server/src/kernel/ledger/stored.ts'
import {
  type CopyEndpoint,
  countRows,
  insertRows,
  openCopyEndpoint,
} from '../../packages/server/src/kernel/storage/copy.ts'
import { newId } from '../../packages/server/src/kernel/values/ids.ts'
import { openStore } from '../../packages/server/src/registry.ts'
import { createFreshKeys } from './fresh-keys.ts'
import { addProject, type LedgerHead, noRows, type RegistryRows } from './registry-rows.ts'

export interface Size {
  keys: number
  projects: number
}

/** Rows per statement, within the parameter limits of both engines. */
const rowsPerStatement = 500
const keysPerTransaction = 10_000

/**
 * Fills an empty registry with projects and distinct P-256 keys, evenly distributed. The ledgers are
 * intact after every transaction. Rejects with a one-line message if there are projects already.
 */
export async function fillRegistry(
  databaseUrl: string,
  { keys, projects }: Size,
  onProgress: (keys: number) => void,
): Promise<void> {
  await (await openStore(databaseUrl)).close()
  const target = await openCopyEndpoint(databaseUrl, 'target')
  const source = createFreshKeys(Math.min(500, keys))
  try {
    if ((await countRows(target.db, projectTable)) > 0) {
      throw new Error('There are projects in this database. Give the address of an empty one.')
    }
    const system = await systemHead(target)
    let rows = noRows()
    let done = 0
    for (let index = 0; index < projects; index += 1) {
      const share = Math.floor(((index + 1) * keys) / projects) - done
      addProject(rows, system, {
        name: `bench-${String(index).padStart(6, '0')}`,
        keys: await source.take(share),
        origin: {
          actor: { name: 'bench:fill' },
          requestId: newId(),
          time: new Date().toISOString(),
        },
      })
      done += share
      if (rows.jwt_key.length >= keysPerTransaction || index === projects - 1) {
        await write(target, rows, system)
        rows = noRows()
        onProgress(done)
      }
    }
  } finally {
    await source.close()
    await target.close()
  }
}

async function systemHead({ db }: CopyEndpoint): Promise<LedgerHead> {
  const { revision, hash } = await db
    .selectFrom('ledger')
    .select(['revision', 'hash'])
    .where('project_id', '=', systemLedgerId)
    .executeTakeFirstOrThrow()
  return { ledgerId: systemLedgerId, revision: Number(revision), hash }
}

async function write(target: CopyEndpoint, rows: RegistryRows, system: LedgerHead): Promise<void> {
  for (const table of [projectTable, ledgerTable, eventTable, keyTable, publishedKeySetTable]) {
    for (let from = 0; from < rows[table.name].length; from += rowsPerStatement) {
      await insertRows(target.db, table, rows[table.name].slice(from, from + rowsPerStatement))
    }
  }
  const { ledgerId, revision, hash } = system
  await target.db
    .updateTable('ledger')
    .set({ revision, hash })
    .where('project_id', '=', ledgerId)
    .execute()
  await target.commit()
}
