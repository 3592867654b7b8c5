import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import { chownToUnprivileged, createServerClient, highLimits } from '../support/server/client.ts'
import { pubring, stopServer } from '../support/server/command.ts'
import { startServer, temporaryFolder } from '../support/server/process.ts'

const { folder } = temporaryFolder()

async function place(name: string) {
  const where = join(folder, name)
  mkdirSync(where)
  const server = await startServer(where, highLimits)
  return { where, server, client: createServerClient(server, server.apiKey) }
}

describe('pubring restore', () => {
  test('rejects files that are damaged, altered, newer or no database, and changes nothing', async () => {
    const { where, server, client } = await place('bad')
    const kid = String(await client.create())
    await stopServer(server)
    await pubring(where, 'backup', 'good.db')
    const alter = (name: string, sql: string): string => {
      copyFileSync(join(where, 'good.db'), join(where, name))
      const database = new DatabaseSync(join(where, name))
      database.exec(sql)
      database.close()
      return name
    }
    writeFileSync(join(where, 'noise.db'), Buffer.alloc(9_000, 0x55))
    const damaged = readFileSync(join(where, 'good.db'))
    writeFileSync(join(where, 'damaged.db'), damaged.fill(0x55, 3 * 4_096 + 8, 6 * 4_096))
    const bad: [string, RegExp, number][] = [
      ['noise.db', /noise.db is not a database/, 66],
      ['none.db', /There is no file none.db/, 66],
      [alter('altered.db', "UPDATE event SET actor_name = 'nobody'"), /altered.db was altered/, 1],
      [
        alter('newer.db', "INSERT INTO kysely_migration VALUES ('9999-x', 'x')"),
        /newer Pubring/,
        70,
      ],
      ['damaged.db', /damaged.db is damaged/, 1],
    ]
    for (const [name, reason, code] of bad) {
      expect(await pubring(where, 'restore', name)).toMatchObject({
        code,
        stderr: expect.stringMatching(reason),
      })
      const left = readdirSync(join(where, 'data'))
      expect(left.filter((file) => /restoring|replaced/.test(file))).toEqual([])
    }
    expect((await pubring(where, 'check', 'altered.db')).code).toBe(1)
    const again = await startServer(where, highLimits)
    expect(await createServerClient(again, server.apiKey).kids()).toEqual([kid])
    await stopServer(again)
  })

  test('needs --force over a garbage database, and nothing if there is none', async () => {
    const { where, server, client } = await place('noise')
    const kid = String(await client.create())
    await pubring(where, 'backup', 'b.db')
    await stopServer(server)
    const file = join(where, 'data/pubring.db')
    writeFileSync(file, Buffer.alloc(9_000, 0x55))
    chownToUnprivileged(file)
    const owner = statSync(file).uid
    expect(await pubring(where, 'restore', '--yes', 'b.db')).toMatchObject({
      code: 70,
      stderr: expect.stringMatching(/--force/),
    })
    expect((await pubring(where, 'restore', '--yes', '--force', 'b.db')).code).toBe(0)
    expect((await pubring(where, 'check')).code).toBe(0)
    expect(statSync(file).uid, 'what root restores is of the same owner').toBe(owner)
    const elsewhere = join(where, 'new/place/pubring.db')
    const url = `sqlite:${elsewhere}`
    expect((await pubring(where, 'restore', 'b.db', '--database-url', url)).code).toBe(0)
    expect(existsSync(elsewhere)).toBe(true)
    const again = await startServer(where, { ...highLimits, PUBRING_DATABASE_URL: url })
    expect(await createServerClient(again, server.apiKey).kids()).toEqual([kid])
    await stopServer(again)
  })
})
