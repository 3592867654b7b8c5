import { execFileSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { waitUntil } from '../waiting.ts'
import {
  chownToPostgres,
  newPostgresFolder,
  openPostgresFolder,
  type PostgresPlace,
  type PostgresServer,
} from './server.ts'

/** The settings that a primary with a standby needs; the others are PostgreSQL's defaults. */
export const primarySettings = `wal_level = replica
max_wal_senders = 4
wal_keep_size = 64MB
max_connections = 100
shared_buffers = 32MB`

/**
 * Starts a standby of a running primary, from a copy of its files made between `pg_backup_start` and
 * `pg_backup_stop` (PostgreSQL manual, section 25.3). From then on commits wait for the standby.
 */
export async function addSynchronousStandby(
  primary: PostgresServer,
  { parent, port }: PostgresPlace = {},
): Promise<PostgresServer> {
  const folder = newPostgresFolder(parent)
  const label = await copyDuringBackup(primary, () =>
    execFileSync('cp', ['-a', primary.folder, folder]),
  )
  writeFileSync(join(folder, 'backup_label'), label)
  chownToPostgres(join(folder, 'backup_label'))
  rmSync(join(folder, 'postmaster.pid'), { force: true })
  writeFileSync(join(folder, 'standby.signal'), '')
  chownToPostgres(join(folder, 'standby.signal'))
  const origin = `host=127.0.0.1 port=${primary.port} user=postgres application_name=standby`
  const standby = await openPostgresFolder(
    folder,
    `primary_conninfo = '${origin}'\nhot_standby = on`,
    port,
  )
  await standby.start()
  await primary.query("alter system set synchronous_standby_names = 'standby'")
  await primary.query('select pg_reload_conf()')
  await waitUntilSynchronous(primary)
  return standby
}

async function copyDuringBackup(primary: PostgresServer, copy: () => void): Promise<string> {
  const client = new pg.Client(primary.url())
  await client.connect()
  try {
    await client.query("select pg_backup_start('standby', true)")
    copy()
    const { rows } = await client.query('select labelfile from pg_backup_stop(false)')
    return String(rows[0]?.labelfile)
  } finally {
    await client.end()
  }
}

async function waitUntilSynchronous(primary: PostgresServer): Promise<void> {
  await waitUntil(async () => {
    const [row] = await primary.query('select sync_state from pg_stat_replication')
    return row?.sync_state === 'sync'
  })
}
