import { readFileSync, rmSync } from 'node:fs'
import { describe, expect, test, vi } from 'vitest'
import { registerAndSign, setActive } from '../support/app/key-set.ts'
import { createKeyFile } from '../support/log/key-file.ts'
import { createLiar, foreignKey } from '../support/log/liar.ts'
import { startHttpServer } from '../support/network/http-server.ts'
import { documentOf, startShell } from './support.ts'

let vkey: string

const key = createKeyFile()
const shell = await startShell({ logSigner: key.open() })

const path = (name: string) => `${shell.folder}/${name}`
const read = (name: string) => readFileSync(path(name), 'utf8')
const sign = async () => (await shell.pubring(['log', 'checkpoint'])).stdout

function verify(name: string, ...flags: string[]) {
  const files = ['--file', path(`${name}.jsonl`), '--proof', path(`${name}.tlog-proof`)]
  return shell.pubring(['ledger', 'verify', ...files, '--log-key', vkey, ...flags])
}

test('before the first checkpoint there is nothing to export', async () => {
  const { code, stderr } = await shell.pubring(['ledger', 'export', path('early')])
  expect({ code, stderr }).toMatchObject({ code: 6, stderr: expect.stringMatching(/next checkpo/) })
})

test('an export can be verified without the server, also against the log', async () => {
  shell.file('old-checkpoint', await sign())
  vkey = (await (await fetch(`${shell.url}/log/vkey`)).text()).trim()
  for (const name of ['renamed', shell.test.project.name]) {
    await shell.pubring(['project', 'rename', shell.test.project.id, name])
  }
  await sign()
  await shell.pubring(['project', 'rename', shell.test.project.id, 'later'])
  const args = ['ledger', 'export', path('payments.jsonl')]
  const exported = await shell.pubring([...args, '--project', shell.test.project.id])
  expect(exported.stderr).toMatch(/^Exported 4 events, of which the log has 3: /)
  expect(exported.code).toBe(0)
  const lines = read('payments.jsonl').trimEnd().split('\n')
  expect(lines.map((line) => JSON.parse(line).revision)).toEqual([1, 2, 3, 4])
  expect(read('payments.tlog-proof')).toMatch(/^c2sp\.org\/tlog-proof@v1\nextra .+\nindex \d+\n/)

  for (const flags of [[], ['--since', path('old-checkpoint'), '--log', `${shell.url}/log`]]) {
    const { code, stdout, stderr } = await verify('payments', ...flags)
    expect({ code, stdout }, stderr).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^whole {3}[0-9a-f-]{36} {2}revision 4 {2}[0-9a-f]{64}\n$/),
    })
  }
})

describe('with --log the key set at the public address must be the one that the log has', () => {
  /** Verifies through a liar, and does `meanwhile` in place of the pause of over two minutes. */
  async function through(url: string, meanwhile: () => unknown, ...flags: string[]) {
    let hasPaused = false
    async function pass(stderr: string): Promise<void> {
      if (hasPaused || !stderr.includes('Asking again in 130 s')) return
      hasPaused = true
      await meanwhile()
      vi.advanceTimersByTime(130_000)
    }
    const args = ['--file', path('payments.jsonl'), '--proof', path('payments.tlog-proof')]
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    try {
      const all = ['ledger', 'verify', ...args, '--log-key', vkey, '--log', `${url}/log`, ...flags]
      return await shell.pubring(all, { onStderr: (stderr) => setImmediate(pass, stderr) })
    } finally {
      vi.useRealTimers()
    }
  }
  const broken = (reason: RegExp) => ({
    code: 1,
    stdout: expect.stringMatching(new RegExp(`^BROKEN {2}The key set .* ${reason.source}`)),
  })
  const folder = () => `/v1/projects/${shell.test.project.id}/.well-known`

  test('also a key of a later revision', async () => {
    const liar = await createLiar(shell.url)
    const { kid } = await registerAndSign(shell.test)
    expect((await through(liar.url, sign)).stderr).toContain('is that of event 5: 1 key.')
    expect(documentOf(await through(liar.url, sign, '--json'))).toMatchObject({
      served: { revision: 5, kids: [kid] },
    })
    liar.add(foreignKey.jwk)
    expect(await through(liar.url, sign)).toMatchObject(broken(/it has the key "foreign"/))
    liar.add(foreignKey.jwk, 1)
    const later = await through(liar.url, sign)
    expect(later).toMatchObject(broken(/has keys that the log does not have: foreign\./))
  })

  test('and not an old one, proven by an entry that is not the last', async () => {
    const liar = await createLiar(shell.url)
    await liar.freeze(`${folder()}/jwks-full.json`, `${folder()}/ledger-proof`)
    await setActive(shell.test, (await registerAndSign(shell.test)).kid, false)
    await sign()
    const old = await through(liar.url, sign)
    expect(old).toMatchObject(broken(/is proven by event 5, and the log has event \d+\./))
    expect((await through(shell.url, sign)).code).toBe(0)
  })

  test('or it counts as not verified', async () => {
    const liar = await startHttpServer(async ({ url = '' }, response) => {
      if (url.endsWith('/jwks-full.json')) return response.writeHead(404).end()
      const answer = await fetch(`${shell.url}${url}`)
      return response.writeHead(answer.status).end(Buffer.from(await answer.arrayBuffer()))
    })
    const without = await through(liar.url, sign)
    expect(without).toMatchObject({ code: 1, stdout: expect.stringMatching(/^whole /) })
    expect(without.stderr).toMatch(/The key set was not verified: http.* with status 404\./)
  })
})

test('the ledger of the system is exported as well, and no file is replaced', async () => {
  const args = ['ledger', 'export', path('system'), '--system', '--json']
  expect(documentOf(await shell.pubring(args))).toMatchObject({
    ledgerId: '00000000-0000-0000-0000-000000000000',
    files: [path('system.jsonl'), path('system.tlog-proof')],
  })
  expect(documentOf(await verify('system', '--json'))).toMatchObject({ whole: true })
  const files = ['system.jsonl', 'system.tlog-proof']
  for (const name of files) {
    for (const each of files) rmSync(path(each), { force: true })
    shell.file(name, 'mine')
    const again = await shell.pubring(args)
    expect(again).toMatchObject({ code: 66, stderr: expect.stringMatching(/exists already/) })
    expect(read(name)).toBe('mine')
  }
  expect(await shell.pubring(['ledger', 'export', path('none/x'), '--system'])).toMatchObject({
    code: 66,
    stderr: expect.stringMatching(/cannot be written/),
  })
})
