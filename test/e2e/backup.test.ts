import { mkdirSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import { exitCodes } from '../../packages/cli/src/terminal/exit-codes.ts'
import { createClient } from '../../packages/client/src/index.ts'
import { openShell } from '../cli/support.ts'
import { countLost } from '../support/faults/results.ts'
import { rememberSecret } from '../support/secrets.ts'
import { createServerClient, highLimits, type ServerClient } from '../support/server/client.ts'
import { stopServer } from '../support/server/command.ts'
import { startServer, temporaryFolder } from '../support/server/process.ts'

const { folder } = temporaryFolder()

const shell = openShell(() => ({}))

/** Runs a command on the database of the server in this folder. */
const pubring = (cwd: string, ...args: string[]) =>
  shell.pubring(args, { env: { PUBRING_DATABASE_URL: `sqlite:${join(cwd, 'data/pubring.db')}` } })

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

/** Signs in with the API key; returns the id of the session. */
async function signIn({ url }: { url: string }, apiKey: string): Promise<string> {
  const answer = await fetch(`${url}/v1/sessions`, {
    method: 'POST',
    headers: { 'x-api-key': apiKey },
  })
  return Object(await answer.json()).id
}

describe('pubring backup', () => {
  test('under load contains every key acknowledged before, in one intact file', async () => {
    const { cwd, server, client } = await startIn('load')
    const load = keepCreating(client)
    while (load.acknowledged.length < 50) await client.create()
    for (const name of ['first.db', 'second.db']) {
      const file = join(cwd, name)
      const before = [...load.acknowledged]
      const { code, stderr } = await pubring(cwd, 'backup', file)
      expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('is whole') })
      const backup = new DatabaseSync(file, { readOnly: true })
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
      expect(statSync(file).mode & 0o077).toBe(0)
      expect(await pubring(cwd, 'check', file)).toMatchObject({
        code: 0,
        stdout: `whole  ${file}\n`,
      })
    }
    await load.end()
    expect(readdirSync(cwd).filter((name) => /db-|partial/.test(name))).toEqual([])

    const again = await pubring(cwd, 'backup', join(cwd, 'first.db'))
    expect(again).toMatchObject({
      code: 66,
      stderr: expect.stringMatching(/first.db exists.*--force/),
    })
    expect((await pubring(cwd, 'backup', '--force', join(cwd, 'first.db'))).code).toBe(0)
    expect((await pubring(cwd, 'backup', join(cwd, 'no/such/folder.db'))).code).toBe(66)
    await stopServer(server)
  })

  test('without a database creates no file', async () => {
    const cwd = join(folder, 'nothing')
    mkdirSync(cwd)
    expect(await pubring(cwd, 'backup', join(cwd, 'b.db'))).toMatchObject({ code: 66 })
    expect(readdirSync(cwd)).toEqual([])
  })
})

describe('pubring restore', () => {
  test('fails while a server runs, then restores the backup and keeps the replaced database', async () => {
    const { cwd, server, client } = await startIn('restore')
    const kept = String(await client.create())
    await pubring(cwd, 'backup', join(cwd, 'b.db'))
    const late = String(await client.create())
    const refused = await pubring(cwd, 'restore', join(cwd, 'b.db'))
    expect(refused).toMatchObject({
      code: 7,
      stderr: expect.stringMatching(/in use\. Stop the server/),
    })
    expect(await client.kids()).toEqual([kept, late])
    await stopServer(server)

    const { code, stderr } = await pubring(cwd, 'restore', join(cwd, 'b.db'))
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringMatching(/is restored from .*b\.db/),
    })
    expect(stderr).toMatch(/Changes made after the backup are undone/)
    expect(stderr).not.toMatch(/again:/)
    const again = await startServer(cwd, highLimits)
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

  test('lists what becomes valid again, and asks', async () => {
    const { cwd, server, client } = await startIn('revived')
    const api = createClient({ url: server.url, apiKey: server.apiKey })
    const kids: string[] = []
    for (let n = 0; n < 5; n += 1) kids.push(String(await client.create()))
    const [kept = '', disabled = '', deleted = '', ending = '', longer = ''] = kids
    const first = new Date(Date.now() + 5_400_000).toISOString()
    await api.keys.update('default', longer, { expireTime: first })
    const made: { id: string; apiKey: string }[] = []
    for (const name of ['stays', 'revoked', 'demoted', 'shortened'])
      made.push(await api.apiKeys.create({ name, role: 'admin' }))
    const [stays, revoked, demoted, shortened] = made
    for (const { apiKey } of made) rememberSecret('an API key', apiKey)
    const { id: project } = await api.projects.get('default')
    const createRule = (name: string) =>
      api.accessRules.create({
        for: 'workloads',
        name,
        issuer: `${server.url}/v1/projects/${project}`,
        keySource: 'project',
        conditions: {},
        role: 'registrar',
        project,
      })
    const [rule, changed] = [await createRule('rotation'), await createRule('recovery')]
    const link = await api.registrationLinks.create('default', { note: 'ACME' })
    const session = await signIn(server, stays?.apiKey ?? '')
    const other = await signIn(server, stays?.apiKey ?? '')
    await pubring(cwd, 'backup', join(cwd, 'b.db'))
    await api.accessRules.update(rule.id, { active: false })
    await api.accessRules.update(changed.id, { maxLifetime: 60 })
    await api.registrationLinks.delete('default', link.id)
    await api.sessions.end(session)
    for (const kid of [disabled, deleted]) await api.keys.update('default', kid, { active: false })
    await api.keys.delete('default', deleted)
    await api.apiKeys.delete(revoked?.id ?? '')
    await api.apiKeys.update(demoted?.id ?? '', { role: 'reader' })
    const soon = new Date(Date.now() + 3_600_000).toISOString()
    const later = new Date(Date.now() + 7_200_000).toISOString()
    await api.keys.update('default', ending, { expireTime: soon })
    await api.keys.update('default', longer, { expireTime: later })
    await api.apiKeys.update(shortened?.id ?? '', { expireTime: soon })
    await client.create()
    await stopServer(server)

    const refused = await pubring(cwd, 'restore', join(cwd, 'b.db'))
    expect(refused.code).toBe(exitCodes.declined.code)
    expect(refused.stderr).toContain(
      'makes 3 keys, 3 API keys, 2 access rules, 1 session and 1 registration link valid again',
    )
    for (const id of [disabled, deleted, ending])
      expect(refused.stderr).toContain(`Published again: key ${id}`)
    expect(refused.stderr).toContain(`API key ${revoked?.id} (revoked), admin of all projects`)
    expect(refused.stderr).toContain(`API key ${demoted?.id} (demoted), admin of all projects`)
    for (const one of [rule, changed])
      expect(refused.stderr).toContain(
        `access rule ${one.id} (${one.name}), registrar of ${project}`,
      )
    expect(refused.stderr).toContain(`session ${session} of ${stays?.id}`)
    expect(refused.stderr).toContain(`registration link ${link.id} (ACME) of default`)
    expect(refused.stderr).toContain(`API key ${shortened?.id} (shortened), admin of all projects`)
    for (const id of [kept, longer, `API key ${stays?.id}`, other])
      expect(refused.stderr).not.toContain(id)
    expect(readdirSync(join(cwd, 'data')).filter((name) => /restor|replaced/.test(name))).toEqual(
      [],
    )

    const { code, stdout } = await pubring(cwd, 'restore', join(cwd, 'b.db'), '--yes', '--json')
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      keys: [{ kid: disabled }, { kid: deleted }, { kid: ending }],
      apiKeys: [{ id: revoked?.id }, { id: demoted?.id, role: 'admin' }, { id: shortened?.id }],
      accessRules: [{ id: rule.id }, { id: changed.id }],
      sessions: [{ id: session, apiKeyId: stays?.id }],
      registrationLinks: [{ project: 'default', id: link.id }],
    })
  })
})
