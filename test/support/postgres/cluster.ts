import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { endLater } from '../ending.ts'
import { fillDisk } from '../faults/small-disk.ts'
import { freePort } from '../server/process.ts'
import { createPostgres, type PostgresPlace } from './server.ts'
import { addSynchronousStandby, primarySettings } from './standby.ts'

/** A primary and its synchronous standby, on two fixed ports and two small disks. */
export interface Cluster {
  /** `HOST:PORT,HOST:PORT` */
  hosts: string
  /** Runs statements on the primary as the superuser. */
  query(sql: string, database?: string): Promise<Record<string, unknown>[]>
  /** Kills the primary, promotes the standby, and replaces the old primary by a new standby. */
  failOver(): Promise<void>
  /** Stops both servers; returns a function that starts them again. */
  stop(): Promise<() => Promise<void>>
  /** Fills the disk of the primary; returns a function that frees it. */
  fillDisk(): () => Promise<void>
  remove(): Promise<void>
}

/** Fits on the disk beside the data of a load of fifteen minutes. */
const settings = `${primarySettings}\nmax_wal_size = 64MB\nmin_wal_size = 32MB`

/**
 * Mounts the disks, so it needs root on Linux; run the process in a mount namespace of its own
 * (`unshare --mount`), so that nothing stays mounted if it is killed. `hba`: lines for `pg_hba.conf`.
 */
export async function startCluster(hba: string): Promise<Cluster> {
  const folder = mkdtempSync(join(tmpdir(), 'pubring-disks-'))
  execFileSync('chmod', ['711', folder])
  const places: [Required<PostgresPlace>, Required<PostgresPlace>] = [
    { parent: mountDisk(join(folder, 'a')), port: await freePort() },
    { parent: mountDisk(join(folder, 'b')), port: await freePort() },
  ]
  let primary = await createPostgres(settings, places[0])
  primary.writeHba(hba)
  await primary.start()
  let standby = await addSynchronousStandby(primary, places[1])

  return {
    hosts: places.map(({ port }) => `127.0.0.1:${port}`).join(','),
    query: (sql, database) => primary.query(sql, database),
    async failOver() {
      await primary.stop('SIGKILL')
      await standby.query('select pg_promote(true)')
      const [old, place] = [primary, places.find(({ port }) => port === primary.port)]
      primary = standby
      await old.remove()
      standby = await addSynchronousStandby(primary, place)
    },
    async stop() {
      await primary.stop('SIGQUIT')
      await standby.stop('SIGQUIT')
      return async () => {
        await Promise.all([primary.start(), standby.start()])
      }
    },
    fillDisk() {
      const free = fillDisk(primary.folder)
      return async () => {
        free()
        // Without space for its log PostgreSQL gives up; its supervisor starts it again.
        if (!primary.isRunning()) await primary.start()
      }
    },
    remove: endLater(async () => {
      await primary.remove()
      await standby.remove()
      for (const { parent } of places) execFileSync('umount', ['--lazy', parent])
      rmSync(folder, { recursive: true })
    }),
  }
}

function mountDisk(folder: string): string {
  mkdirSync(folder)
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=400m,mode=711', 'tmpfs', folder])
  return folder
}
