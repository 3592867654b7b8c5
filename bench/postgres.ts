/**
 * Rates of one replica on PostgreSQL with 32 clients: changes of one project and of many, reads of a
 * ledger head, and HTTP requests for a list and for a key set. Without a URL, starts a PostgreSQL with
 * default settings, where every commit waits for the disk.
 *
 *   node bench/postgres.ts [postgres://…]
 */

import { once } from 'node:events'
import { Agent, request } from 'node:http'
import process from 'node:process'
import { keyChanges } from '../packages/server/src/features/keys/changes.ts'
import { newId } from '../packages/server/src/kernel/values/ids.ts'
import { openStore } from '../packages/server/src/registry.ts'
import { createReplicas, registerKey } from '../test/support/server/replicas.ts'
import { keyRecord } from '../test/support/store/key-records.ts'
import { createProject, limits, origin } from '../test/support/store/store.ts'
import { startPostgres } from './server/databases.ts'

const clients = 32
const seconds = 5
const print = (name: string, rate: number) =>
  process.stdout.write(`${name.padEnd(48)} ${Math.round(rate).toString().padStart(7)}/s\n`)

/** Calls per second with all clients busy. */
async function rateOf(call: (client: number) => Promise<unknown>): Promise<number> {
  const end = performance.now() + seconds * 1_000
  let done = 0
  const start = performance.now()
  await Promise.all(
    Array.from({ length: clients }, async (_, client) => {
      for (; performance.now() < end; done += 1) await call(client)
    }),
  )
  return (done / (performance.now() - start)) * 1_000
}

const option = process.argv[2]
const own = option === undefined ? await startPostgres() : undefined
await own?.query('create database pubring')
const url = option ?? own?.url('pubring') ?? ''

const store = await openStore(url)
const projects = await Promise.all(
  Array.from({ length: clients }, () => createProject(store, `bench-${newId().slice(-12)}`)),
)
const kids = await Promise.all(
  projects.map(async ({ id }) => {
    const key = keyRecord(id)
    return (await store.commit(keyChanges.createKey, { origin: origin(), key, limits })).id
  }),
)
let label = 0
const change = (index: number) => {
  label += 1
  return store.commit(keyChanges.updateKey, {
    origin: origin(),
    projectId: projects[index]?.id ?? '',
    kid: kids[index] ?? '',
    patch: { label: `label ${label}` },
    limits,
  })
}
print('changes, all of one project', await rateOf(() => change(0)))
print(`changes, of ${clients} projects`, await rateOf((client) => change(client)))
print('reads of a ledger head', await rateOf(() => store.heads([projects[0]?.id ?? ''])))
await store.close()

const replicas = createReplicas(url)
const replica = await replicas.add({ PUBRING_LOG_LEVEL: 'fatal' })
const project = projects[0]?.id ?? ''
for (let count = 0; count < 4; count += 1) await registerKey(replica, project)
const agent = new Agent({ keepAlive: true, maxSockets: clients })
async function get(path: string): Promise<void> {
  const sent = request(replica.url + path, { agent, headers: { 'X-Api-Key': replica.apiKey } })
  sent.end()
  const [response] = await once(sent, 'response')
  response.resume()
  await once(response, 'end')
}
print('GET a list of 5 keys', await rateOf(() => get(`/v1/projects/${project}/jwt-keys`)))
print('GET its key set', await rateOf(() => get(`/v1/projects/${project}/.well-known/jwks.json`)))
await replicas.close()
await own?.remove()
