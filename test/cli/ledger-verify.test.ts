import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import { rsaKey } from '../support/keys/pem.ts'
import { pubring } from '../support/server/command.ts'
import { startServer, temporaryFolder } from '../support/server/process.ts'

const { folder } = temporaryFolder()

const server = await startServer(folder)
for (const name of ['first', 'second']) {
  const body = { name, algorithm: 'RSA', publicKeyPem: rsaKey().publicKeyPem }
  const response = await fetch(`${server.url}/v1/projects/default/jwt-keys`, {
    method: 'POST',
    headers: { 'X-Api-Key': server.apiKey, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  })
  expect(response.status).toBe(201)
}

/** `pubring ledger verify` beside the server, in its folder. */
const verify = (...args: string[]) => pubring(folder, 'ledger', 'verify', ...args)

describe('pubring ledger verify', () => {
  test('finds the ledgers of a running server whole, and exits with 0', async () => {
    const { code, stdout, stderr } = await verify()
    expect({ code, stderr: stderr.split('\n')[0] }).toEqual({
      code: 0,
      stderr: '2 ledgers, 5 events: all whole.',
    })
    expect(stdout).toMatch(
      /^whole {3}system {32}revision 2 {2}[0-9a-f]{64}\nwhole {3}[0-9a-f-]{36} {2}revision 3 {2}[0-9a-f]{64}\n$/,
    )
  })

  test('the hash it prints is that of the last event', async () => {
    const { stdout } = await verify('--project', 'DEFAULT')
    const database = new DatabaseSync(join(folder, 'data/pubring.db'), { readOnly: true })
    const row = database.prepare(
      "select hash from event where type = 'key.created' and revision = 3",
    )
    expect(stdout.trim().split(/ +/)).toContain(row.get()?.hash)
    database.close()
  })

  test.each([
    [['--project', 'nobody'], 6, /^pubring: There is no ledger of nobody/],
    [
      ['--project', '019ac8f2-6c1e-7d53-a1b0-5f0e4c9d2b71'],
      6,
      /^pubring: There is no ledger of 019/,
    ],
    [
      ['--database-url', 'sqlite:./none.db'],
      66,
      /^pubring: There is no database at \.\/none\.db\.\n$/,
    ],
    [['--database-url', './none.db'], 64, /^pubring: --database-url must be sqlite:PATH/],
  ])('fails for %j with exit code %i', async (args, exitCode, message) => {
    const { code, stdout, stderr } = await verify(...args)
    expect({ code, stdout }).toEqual({ code: exitCode, stdout: '' })
    expect(stderr).toMatch(message)
  })

  test('finds a row edited under the running server, and exits with 1', async () => {
    const database = new DatabaseSync(join(folder, 'data/pubring.db'))
    database.exec(
      "update event set actor_name = 'nobody' where type = 'key.created' and revision = 2",
    )
    database.close()
    const { code, stdout, stderr } = await verify('--database-url', 'sqlite:./data/pubring.db')
    expect(code).toBe(1)
    expect(stderr).toBe('2 ledgers, 3 events: 1 broken.\n')
    const [system, project, ...others] = stdout.trimEnd().split('\n')
    expect(others).toEqual([])
    expect(system).toMatch(/^whole {3}system/)
    expect(project).toMatch(
      /^BROKEN {2}[0-9a-f-]{36} {2}revision 2: event 2 \(key\.created, .*\) was altered or moved/,
    )
  })
})
