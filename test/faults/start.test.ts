import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { countLost, recordFault } from '../support/faults/results.ts'
import {
  chownToUnprivileged,
  createServerClient,
  highLimits,
  unprivilegedUid,
} from '../support/server/client.ts'
import { spawnServer, startServer, temporaryFolder } from '../support/server/process.ts'

const { folder } = temporaryFolder()

chownToUnprivileged(folder)
const uid = unprivilegedUid()
const launch = uid === undefined ? {} : { uid }

/** A folder owned by the unprivileged user that the server runs as. */
function createFolder(name: string): string {
  const where = join(folder, name)
  mkdirSync(join(where, 'data'), { recursive: true })
  chownToUnprivileged(where)
  chownToUnprivileged(join(where, 'data'))
  return where
}

/** Starts a server that must fail with the exit code of a failure and one line; returns the line. */
async function startError(where: string): Promise<string> {
  const server = await spawnServer(where, highLimits, launch)
  expect([64, 66, 70]).toContain(await server.ended)
  const lines = server.output().trim().split('\n')
  expect(lines).toHaveLength(1)
  expect(lines[0]).toMatch(/^pubring: /)
  return lines[0] ?? ''
}

/** A database of a server that has stopped. */
async function createUsed(name: string): Promise<{ where: string; file: string }> {
  const where = createFolder(name)
  const server = await startServer(where, highLimits, launch)
  await createServerClient(server, server.apiKey).create()
  server.signal('SIGTERM')
  expect(await server.ended).toBe(0)
  return { where, file: join(where, 'data/pubring.db') }
}

test('a data folder or file that cannot be written stops the start', async () => {
  const where = createFolder('read-only')
  chmodSync(join(where, 'data'), 0o500)
  expect(await startError(where)).toMatch(/cannot be opened for writing by this user \(EACCES\)/)
  const { where: other, file } = await createUsed('read-only-file')
  chmodSync(file, 0o400)
  expect(await startError(other)).toMatch(/EACCES/)
  chmodSync(join(where, 'data'), 0o700)
  recordFault({
    fault: 'Data folder not writable at the start',
    observed: 'a nonzero exit code and one line that names the file; no other location is used',
    acknowledged: 0,
    lost: 0,
  })
})

test('garbage, a newer schema and a log without its database stop the start and stay unchanged', async () => {
  const garbage = createFolder('garbage')
  const junk = Buffer.alloc(8_192, 0x55)
  writeFileSync(join(garbage, 'data/pubring.db'), junk)
  if (uid !== undefined) chownToUnprivileged(join(garbage, 'data/pubring.db'))
  expect(await startError(garbage)).toMatch(/not a database/)
  expect(readFileSync(join(garbage, 'data/pubring.db')).equals(junk)).toBe(true)

  const { where, file } = await createUsed('newer')
  expect(existsSync(`${file}-wal`), 'a stopped server leaves one file').toBe(false)
  const database = new DatabaseSync(file)
  database.exec("INSERT INTO kysely_migration VALUES ('9999-future', '2030-01-01T00:00:00.000Z')")
  database.close()
  expect(await startError(where)).toMatch(/written by a newer Pubring.*9999-future/)

  rmSync(file)
  writeFileSync(`${file}-wal`, 'x')
  expect(await startError(where)).toMatch(/is gone, but .*-wal is there/)
  expect(existsSync(file)).toBe(false)
  recordFault({
    fault: 'Start on garbage, on a newer schema, on a log without its database',
    observed:
      'a nonzero exit code and one line that says what to do; no file is changed or created',
    acknowledged: 0,
    lost: 0,
  })
})

test('a database whose log is gone stops the start, until the log is back', async () => {
  const where = createFolder('lost-log')
  const first = await startServer(where, highLimits, launch)
  const kid = await createServerClient(first, first.apiKey).create()
  first.signal('SIGKILL')
  await first.ended
  const log = join(where, 'data/pubring.db-wal')
  renameSync(log, join(where, 'saved'))
  expect(await startError(where)).toMatch(/latest changes .* are missing.*-wal, which is gone/)
  renameSync(join(where, 'saved'), log)
  const server = await startServer(where, highLimits, launch)
  const kids = await createServerClient(server, first.apiKey).kids()
  expect(kids).toEqual([kid])
  server.signal('SIGKILL')
  await server.ended
  recordFault({
    fault: 'Log gone after a crash',
    observed:
      'a nonzero exit code and one line, instead of a new registry; complete once the log is back',
    acknowledged: kids.length,
    lost: countLost([String(kid)], kids),
  })
})
