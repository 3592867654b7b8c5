import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createClient } from '../../packages/client/src/index.ts'
import { buildGoTools, hasGo, startLitewitness, verifyWithGo } from '../support/log/go.ts'
import { startTlsProxy, type TlsProxy } from '../support/network/tls-proxy.ts'
import { stopServer } from '../support/server/command.ts'
import { freePort, startServer, temporaryFolder } from '../support/server/process.ts'

const { folder } = temporaryFolder()
let witness: Awaited<ReturnType<typeof startLitewitness>> | undefined
let proxy: TlsProxy | undefined

beforeAll(async () => {
  if (!hasGo) return
  await buildGoTools(folder)
  witness = await startLitewitness(folder)
  proxy = await startTlsProxy()
  proxy.forwardTo(witness.url)
}, 300_000)
afterAll(async () => {
  await witness?.close()
})

test("Go's tools cosign and verify the log, and litewitness keeps it from forking", async ({
  skip,
}) => {
  if (witness === undefined || proxy === undefined) {
    return skip('needs Go, ssh-agent, ssh-add and ssh-keygen')
  }
  const caFile = join(folder, 'ca.pem')
  writeFileSync(caFile, proxy.cert)
  const settings = {
    PUBRING_PORT: String(await freePort()),
    PUBRING_LOG_WITNESSES: `${witness.vkey} ${proxy.url}`,
    PUBRING_OUTBOUND_ALLOW: 'localhost',
    PUBRING_OUTBOUND_CA_FILE: caFile,
  }
  const where = join(folder, 'registry')
  mkdirSync(where)
  let server = await startServer(where, settings)
  const client = createClient({ url: server.url, apiKey: server.apiKey })
  const read = async (path: string) => (await fetch(`${server.url}/log/${path}`)).text()

  // The witness does not know the log yet. The last entry of a checkpoint is the root of all last heads.
  await client.log.checkpoint()
  const vkey = (await read('vkey')).trim()
  const treeUrl = () => `${server.url}/log/${/[0-9a-f]{8}(?=\+)/.exec(vkey)?.[0]}`
  await expect(verifyWithGo(folder, treeUrl(), vkey)).resolves.toMatch(/\n3\n$/)
  expect(server.output()).toMatch(/status 403 \(unknown log\); has its operator added the key/)
  witness.addLog(vkey)

  // More than one tile, of which one is full.
  for (let first = 0; first < 260; first += 20) {
    const names = Array.from({ length: 20 }, (_, index) => `project-${first + index}`)
    await Promise.all(names.map((name) => client.projects.create({ name })))
  }
  await client.log.checkpoint()
  const verified = await verifyWithGo(folder, treeUrl(), vkey, witness.vkey)
  expect(verified).toBe(`${vkey.replace(/\+.*/, '')}\n265\n`)
  const proved = await client.log.prove({ project: 'project-7' })
  expect(proved.checkpoint).toBe(await read('checkpoint'))

  // The machine is set back as a whole, with the file of signed checkpoints.
  await stopServer(server)
  cpSync(join(where, 'data'), join(where, 'earlier'), { recursive: true })
  server = await startServer(where, settings)
  await client.projects.create({ name: 'lost' })
  await client.log.checkpoint()
  await verifyWithGo(folder, treeUrl(), vkey, witness.vkey)
  await stopServer(server)
  rmSync(join(where, 'data'), { recursive: true })
  cpSync(join(where, 'earlier'), join(where, 'data'), { recursive: true })
  server = await startServer(where, settings)
  await client.projects.create({ name: 'another' })
  await expect(client.log.checkpoint()).rejects.toMatchObject({ code: 'log_stopped' })
  await expect
    .poll(() => server.output())
    .toMatch(
      /"it has cosigned a tree of \d+ entries, and this one has 26\d","msg":"a witness contr/,
    )
  await stopServer(server)
}, 300_000)
