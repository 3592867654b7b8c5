/**
 * Revocation as verifiers see it: from sending the PATCH that deactivates a key until each of many verifiers,
 * each with a connection of its own, refuses a token of the key. A proxy delays what they send and receive by
 * 100 ms each way, and cuts off one of a hundred at the PATCH. Besides, clients at 200 loopback addresses hold
 * requests for the same key set. The least possible is the delay and a commit. Prints a table, and writes the
 * figures to bench/results/revocation-at-verifiers.json, or with fewer than 1,000 verifiers or 10,000 held
 * requests to quick-revocation-at-verifiers.json. Linux.
 *
 *   npm run bench:revocation-at-verifiers [-- VERIFIERS [HELD [PROCESSES [ROUNDS]]]]
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import process from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import { createClient } from '../packages/client/src/index.ts'
import { keyFor, signToken } from '../test/support/keys/tokens.ts'
import type { Figure } from './report/figures.ts'
import { machine } from './report/machine.ts'
import { saveResults } from './report/results.ts'
import { spreadOf } from './report/spread.ts'
import { resultsText } from './report/table.ts'
import { type Duty, type Order, sharedTime } from './revocation/verifier-process.ts'
import { createDatabases } from './server/databases.ts'
import { startServer } from './server/start.ts'

const [verifiers = 1_000, held = 10_000, processes = 10, rounds = 3] = process.argv
  .slice(2)
  .map(Number)
const delayMs = 100
/** One of so many verifiers is cut off. */
const cutEvery = 100
/** The default `maxStale` of a verifier. */
const maxStaleMs = 30_000

const progress = (text: string) => process.stderr.write(`${text}\n`)

/** Delays all data, and drops them silently while it is cut. */
async function startProxy(port: number) {
  const sockets = new Set<Socket>()
  let isCut = false
  const server = createServer((near) => {
    const far = connect(port, '127.0.0.1')
    const ways = [
      [near, far],
      [far, near],
    ] as const
    for (const [from, to] of ways) {
      sockets.add(from)
      from.on('data', (chunk) => setTimeout(() => !isCut && to.write(chunk), delayMs))
      from.on('error', () => from.destroy())
      from.on('close', () => {
        sockets.delete(from)
        setTimeout(() => to.destroy(), delayMs)
      })
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const reset = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut() {
      isCut = true
    },
    restore() {
      isCut = false
      reset()
    },
    close() {
      server.close()
      reset()
    },
  }
}

const children: ChildProcess[] = []
async function start(duty: Duty): Promise<ChildProcess> {
  const child = fork(new URL('revocation/verifier-process.ts', import.meta.url), [
    JSON.stringify(duty),
  ])
  children.push(child)
  await once(child, 'message')
  return child
}

/** When each verifier accepts or refuses the token, in the order of the verifiers. */
async function ask(workers: readonly ChildProcess[], order: Order): Promise<number[]> {
  const times = workers.map(async (worker): Promise<number[]> => {
    const answered = once(worker, 'message')
    worker.send(order)
    const [found] = await answered
    return found
  })
  return (await Promise.all(times)).flat()
}

const databases = createDatabases()
const measuredOn = machine()
const server = await startServer(await databases.create('sqlite'))
const { url, apiKey } = server.replica
const client = createClient({ url, apiKey })
const { id } = await client.projects.create({ name: 'verifiers' })
const [near, cutOff] = [await startProxy(server.port), await startProxy(server.port)]
try {
  // A key that stays, so that each key set is that of a project in use.
  const { publicKeyPem: lasting } = keyFor('ES256')
  await client.keys.create(id, { name: 'lasting', algorithm: 'ES256', publicKeyPem: lasting })
  progress(`${verifiers} verifiers in ${processes} processes`)
  const issuers = Array.from({ length: verifiers }, (_, index) => {
    return `${(index % cutEvery === 0 ? cutOff : near).url}/v1/projects/${id}`
  })
  const share = Math.ceil(verifiers / processes)
  const workers: ChildProcess[] = []
  for (let from = 0; from < verifiers; from += share) {
    workers.push(await start({ issuers: issuers.slice(from, from + share) }))
  }
  progress(`${held} held requests`)
  const path = `/v1/projects/${id}/.well-known/jwks.json`
  if (held > 0) await start({ held, port: server.port, path })
  const [connected, cut, commits]: [number[], number[], number[]] = [[], [], []]
  for (let round = 1; round <= rounds; round += 1) {
    progress(`round ${round} of ${rounds}`)
    const key = keyFor('ES256')
    const { publicKeyPem } = key
    const { kid } = await client.keys.create(id, { name: 'a', algorithm: 'ES256', publicKeyPem })
    const token = signToken(key.privateKey, { alg: 'ES256', kid })
    await ask(workers, { token, isAccepted: true })
    const refused = ask(workers, { token, isAccepted: false })
    await delay(2_000 + Math.random() * 1_000)
    cutOff.cut()
    const sent = sharedTime()
    await client.keys.update(id, kid, { active: false })
    commits.push(sharedTime() - sent)
    for (const [index, time] of (await refused).entries()) {
      const group = index % cutEvery === 0 ? cut : connected
      group.push(time - sent)
    }
    cutOff.restore()
    await client.keys.delete(id, kid)
  }
  report(connected, cut, commits)
} finally {
  for (const child of children) child.kill()
  near.close()
  cutOff.close()
  await server.close()
  await databases.close()
}

function report(connected: number[], cut: number[], commits: number[]): void {
  const figures: Figure[] = []
  const add = (name: string, value: number, note: string) =>
    figures.push({ name, server: server.name, unit: 'ms', value: spreadOf([value]), note })
  const sorted = connected.toSorted((a, b) => a - b)
  const p99 = sorted[Math.ceil(sorted.length * 0.99) - 1] ?? Number.NaN
  add('PATCH', spreadOf(commits).median, 'until it was answered, median')
  add('first refusal, median', spreadOf(connected).median, `${delayMs} ms are the way`)
  add('first refusal, P99', p99, `of ${connected.length} refusals`)
  add('first refusal, maximum', Math.max(...connected), '')
  if (cut.length > 0) {
    const note = `of ${cut.length} that were cut off; maxStale is ${maxStaleMs}`
    add('first refusal without contact, median', spreadOf(cut).median, note)
    add('first refusal without contact, maximum', Math.max(...cut), note)
  }
  const scope = `${verifiers} verifiers in ${processes} processes, ${held} held requests besides, rounds: ${rounds}; ${delayMs} ms added each way.`
  const results = { machine: measuredOn, scope, reads: [], figures }
  const isQuick = verifiers < 1_000 || held < 10_000
  saveResults(`${isQuick ? 'quick-' : ''}revocation-at-verifiers`, results)
  process.stdout.write(`${resultsText(results)}\n`)
}
