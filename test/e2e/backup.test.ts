import { mkdirSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, describe, expect, test } from 'vitest'
import { countLost } from '../support/faults/results.ts'
import { createServerClient, highLimits, type ServerClient } from '../support/server/client.ts'
import { pubring, stopServer } from '../support/server/command.ts'
import { spawnServer, startServer, temporaryFolder, whenReady } from '../support/server/process.ts'

const { folder, remove } = temporaryFolder()
afterAll(remove)

async function place(name: string) {
  const where = join(folder, name)
  mkdirSync(where)
  const server = await startServer(where, highLimits)
  return { where, server, client: createServerClient(server, server.apiKey) }
}

/** Creates keys one after the other until it is told to end; answers all that were acknowledged. */
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
  test('under load holds every key that was acknowledged before, in one file that is whole', async () => {
    const { where, server, client } = await place('load')
    const load = keepCreating(client)
    while (load.acknowledged.length < 50) await client.create()
    for (const name of ['first.db', 'second.db']) {
      const before = [...load.acknowledged]
      const { code, stderr } = await pubring(where, 'backup', name)
      expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('is whole') })
      const backup = new DatabaseSync(join(where, name), { readOnly: true })
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
      expect(statSync(join(where, name)).mode & 0o077).toBe(0)
      expect(await pubring(where, 'check', name)).toMatchObject({
        code: 0,
        stdout: `whole  ${name}\n`,
      })
    }
    await load.end()
    expect(readdirSync(where).filter((name) => /db-|partial/.test(name))).toEqual([])

    const again = await pubring(where, 'backup', 'first.db')
    expect(again).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/first.db exists.*--force/),
    })
    expect((await pubring(where, 'backup', '--force', 'first.db')).code).toBe(0)
    expect((await pubring(where, 'backup', 'no/such/folder.db')).code).toBe(1)
    await stopServer(server)
  })

  test('of nothing makes nothing', async () => {
    const where = join(folder, 'nothing')
    mkdirSync(where)
    expect(await pubring(where, 'backup', 'b.db')).toMatchObject({ code: 1 })
    expect(readdirSync(where)).toEqual([])
  })
})

describe('pubring restore', () => {
  test('refuses while a server runs, then brings the backup back and keeps what was there', async () => {
    const { where, server, client } = await place('restore')
    const kept = String(await client.create())
    await pubring(where, 'backup', 'b.db')
    const late = String(await client.create())
    const refused = await pubring(where, 'restore', 'b.db')
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/in use: stop the server/),
    })
    expect(await client.kids()).toEqual([kept, late])
    await stopServer(server)

    const { code, stderr } = await pubring(where, 'restore', 'b.db')
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringMatching(/is restored from b.db/),
    })
    expect(stderr).toMatch(/published again/)
    const again = await spawnServer(where, highLimits)
    await whenReady(again)
    expect(await createServerClient(again, server.apiKey).kids()).toEqual([kept])
    await stopServer(again)
    const aside = readdirSync(join(where, 'data')).filter((name) => name.includes('replaced'))
    expect(aside).toHaveLength(1)
    const old = new DatabaseSync(join(where, 'data', aside[0] ?? ''), { readOnly: true })
    expect(old.prepare('SELECT id FROM jwt_key ORDER BY create_time').all()).toMatchObject([
      { id: kept },
      { id: late },
    ])
    old.close()
  })
})
