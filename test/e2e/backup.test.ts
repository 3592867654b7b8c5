import { mkdirSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import { countLost } from '../support/faults/results.ts'
import { createServerClient, highLimits, type ServerClient } from '../support/server/client.ts'
import { pubring, stopServer } from '../support/server/command.ts'
import { spawnServer, startServer, temporaryFolder, whenReady } from '../support/server/process.ts'

const { folder } = temporaryFolder()

async function startIn(name: string) {
  const cwd = join(folder, name)
  mkdirSync(cwd)
  const server = await startServer(cwd, highLimits)
  return { cwd, server, client: createServerClient(server, server.apiKey) }
}

/** Creates keys until `end` is called; `acknowledged` lists those that were confirmed. */
function keepCreating(client: ServerClient): { acknowledged: string[]; end(): Promise<void> } {
  const acknowledged: string[] = []
  let ending = false
  const load = Array.from({ length: 4 }, async () => {
    while (!ending) acknowledged.push(String(await client.create()))
  })
  return {
    acknowledged,
    async end() {
      ending = true
      await Promise.all(load)
    },
  }
}

describe('pubring backup', () => {
  test('under load contains every key acknowledged before, in one intact file', async () => {
    const { cwd, server, client } = await startIn('load')
    const load = keepCreating(client)
    while (load.acknowledged.length < 50) await client.create()
    for (const name of ['first.db', 'second.db']) {
      const before = [...load.acknowledged]
      const { code, stderr } = await pubring(cwd, 'backup', name)
      expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('is whole') })
      const backup = new DatabaseSync(join(cwd, name), { readOnly: true })
      const kids = backup.prepare('SELECT id FROM jwt_key').all()
      const [revisions] = backup
        .prepare(
          'SELECT l.revision, (SELECT max(revision) FROM event e WHERE e.project_id = l.project_id) AS last FROM ledger l JOIN project p ON p.id = l.project_id',
        )
        .all()
      backup.close()
      expect(
        countLost(
          before,
          kids.map(({ id }) => String(id)),
        ),
      ).toBe(0)
      expect(revisions?.revision).toBe(revisions?.last)
      expect(statSync(join(cwd, name)).mode & 0o077).toBe(0)
      expect(await pubring(cwd, 'check', name)).toMatchObject({
        code: 0,
        stdout: `whole  ${name}\n`,
      })
    }
    await load.end()
    expect(readdirSync(cwd).filter((name) => /db-|partial/.test(name))).toEqual([])

    const again = await pubring(cwd, 'backup', 'first.db')
    expect(again).toMatchObject({
      code: 66,
      stderr: expect.stringMatching(/first.db exists.*--force/),
    })
    expect((await pubring(cwd, 'backup', '--force', 'first.db')).code).toBe(0)
    expect((await pubring(cwd, 'backup', 'no/such/folder.db')).code).toBe(66)
    await stopServer(server)
  })

  test('without a database creates no file', async () => {
    const cwd = join(folder, 'nothing')
    mkdirSync(cwd)
    expect(await pubring(cwd, 'backup', 'b.db')).toMatchObject({ code: 66 })
    expect(readdirSync(cwd)).toEqual([])
  })
})

describe('pubring restore', () => {
  test('fails while a server runs, then restores the backup and keeps the replaced database', async () => {
    const { cwd, server, client } = await startIn('restore')
    const kept = String(await client.create())
    await pubring(cwd, 'backup', 'b.db')
    const late = String(await client.create())
    const refused = await pubring(cwd, 'restore', 'b.db')
    expect(refused).toMatchObject({
      code: 70,
      stderr: expect.stringMatching(/in use\. Stop the server/),
    })
    expect(await client.kids()).toEqual([kept, late])
    await stopServer(server)

    const { code, stderr } = await pubring(cwd, 'restore', 'b.db')
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringMatching(/is restored from b.db/),
    })
    expect(stderr).toMatch(/published again/)
    const again = await spawnServer(cwd, highLimits)
    await whenReady(again)
    expect(await createServerClient(again, server.apiKey).kids()).toEqual([kept])
    await stopServer(again)
    const aside = readdirSync(join(cwd, 'data')).filter((name) => name.includes('replaced'))
    expect(aside).toHaveLength(1)
    const old = new DatabaseSync(join(cwd, 'data', aside[0] ?? ''), { readOnly: true })
    expect(old.prepare('SELECT id FROM jwt_key ORDER BY create_time').all()).toMatchObject([
      { id: kept },
      { id: late },
    ])
    old.close()
  })
})
