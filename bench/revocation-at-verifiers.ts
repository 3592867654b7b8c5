/**
 * Revocation as verifiers see it: from sending the PATCH that deactivates a key until the news has left the
 * server for each of many verifiers, with a connection of its own, and until the verifier refuses a token of
 * the key. A proxy delays what they send and receive by 100 ms each way, and cuts off one of a hundred at the
 * PATCH. Besides, clients hold requests for the same key set, and repeat them at once. Both come from 200
 * loopback addresses, and are together as many as one process holds. The server has a core of its own; all
 * verifiers share the other, so that their own work delays the refusals. Prints a table, and writes the
 * figures to bench/results/revocation-at-verifiers.json, or with fewer than 1,000 verifiers or 9,000 held
 * requests to quick-revocation-at-verifiers.json. Linux.
 *
 *   npm run bench:revocation-at-verifiers [-- VERIFIERS [HELD [PROCESSES [ROUNDS]]]]
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setPriority } from 'node:os'
import process from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import { createClient } from '../packages/client/src/index.ts'
import { keyFor, signToken } from '../test/support/keys/tokens.ts'
import { cpuMicros } from './load/usage.ts'
import type { Figure } from './report/figures.ts'
import { machine } from './report/machine.ts'
import { saveResults } from './report/results.ts'
import { spreadOf } from './report/spread.ts'
import { resultsText } from './report/table.ts'
import { type Duty, type Order, sharedTime } from './revocation/verifier-process.ts'
import { generatorCores, pin, serverCores } from './server/cores.ts'
import { createDatabases } from './server/databases.ts'
import { startServer } from './server/start.ts'

const [verifiers = 1_000, held = 9_000, processes = 10, rounds = 3] = process.argv
  .slice(2)
  .map(Number)
const delayMs = 100
/** The answer to a held request. */
const isNews = /^preference-applied: wait=[1-9]/im
/** From which the verifiers come: one alone would have no place among so many. */
const addresses = 200
/** One of so many verifiers is cut off. */
const cutEvery = 100
/** The default `maxStale` of a verifier. */
const maxStaleMs = 30_000
/** So that the proxy notes the times, and clients repeat requests, before verifiers work. */
const verifierNiceness = 10

const progress = (text: string) => process.stderr.write(`${text}\n`)

/** Delays all data, and drops them silently while it is cut. */
async function startProxy(port: number) {
  const sockets = new Set<Socket>()
  const news = new Map<Socket, number>()
  let [isCut, connections] = [false, 0]
  const server = createServer((near) => {
    connections += 1
    const localAddress = `127.0.2.${connections % addresses}`
    const far = connect({ port, host: '127.0.0.1', localAddress })
    const ways = [
      [near, far],
      [far, near],
    ] as const
    far.on('data', (chunk) => {
      if (isNews.test(chunk.toString('latin1'))) news.set(far, sharedTime())
    })
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
    /** When the server has answered the held request of each verifier, since this was cleared. */
    news,
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
  if ('issuers' in duty && child.pid !== undefined) setPriority(child.pid, verifierNiceness)
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

pin([process.pid], generatorCores)
const databases = createDatabases()
const measuredOn = machine()
const server = await startServer(await databases.create('sqlite'))
server.pin(serverCores)
const { url, apiKey } = server.replica
const client = createClient({ url, apiKey })
const { id } = await client.projects.create({ name: 'verifiers' })
const [near, cutOff] = [await startProxy(server.port), await startProxy(server.port)]
/** The process of those that are cut off, and those of the others. */
const workers: ChildProcess[] = []
async function startVerifiers(proxy: typeof near, count: number, recheckMs: number) {
  const issuers = Array.from({ length: count }, () => `${proxy.url}/v1/projects/${id}`)
  workers.push(await start({ issuers, recheckMs }))
}
const measured = {
  commits: [] as number[],
  news: [] as number[],
  refusals: [] as number[],
  cut: [] as number[],
  serverCpu: [] as number[],
  clientCpu: [] as number[],
}
const clientPids = () => [process.pid, ...children.flatMap(({ pid }) => pid ?? [])]

async function measureRound(): Promise<void> {
  const key = keyFor('ES256')
  const { publicKeyPem } = key
  const { kid } = await client.keys.create(id, { name: 'a', algorithm: 'ES256', publicKeyPem })
  const token = signToken(key.privateKey, { alg: 'ES256', kid })
  await ask(workers, { token, isAccepted: true })
  const [lost, ...others] = workers
  const refused = ask(others, { token, isAccepted: false })
  const withoutContact = ask(lost === undefined ? [] : [lost], { token, isAccepted: false })
  await delay(2_000 + Math.random() * 1_000)
  cutOff.cut()
  near.news.clear()
  const cpu = [cpuMicros(server.pids), cpuMicros(clientPids())] as const
  const sent = sharedTime()
  const sinceSent = (times: Iterable<number>) => [...times].map((time) => time - sent)
  await client.keys.update(id, kid, { active: false })
  measured.commits.push(sharedTime() - sent)
  measured.refusals.push(...sinceSent(await refused))
  measured.serverCpu.push((cpuMicros(server.pids) - cpu[0]) / 1_000)
  measured.clientCpu.push((cpuMicros(clientPids()) - cpu[1]) / 1_000)
  measured.news.push(...sinceSent(near.news.values()))
  measured.cut.push(...sinceSent(await withoutContact))
  cutOff.restore()
  await client.keys.delete(id, kid)
}

try {
  // A key that stays, so that each key set is that of a project in use.
  const { publicKeyPem: lasting } = keyFor('ES256')
  await client.keys.create(id, { name: 'lasting', algorithm: 'ES256', publicKeyPem: lasting })
  progress(`${verifiers} verifiers in ${processes} processes`)
  const cutCount = Math.ceil(verifiers / cutEvery)
  await startVerifiers(cutOff, cutCount, 100)
  const share = Math.ceil((verifiers - cutCount) / processes)
  for (let left = verifiers - cutCount; left > 0; left -= share) {
    await startVerifiers(near, Math.min(share, left), maxStaleMs)
  }
  progress(`${held} held requests`)
  const path = `/v1/projects/${id}/.well-known/jwks.json`
  if (held > 0) await start({ held, port: server.port, path })
  for (let round = 1; round <= rounds; round += 1) {
    progress(`round ${round} of ${rounds}`)
    await measureRound()
  }
  report()
} finally {
  for (const child of children) child.kill()
  near.close()
  cutOff.close()
  await server.close()
  await databases.close()
}

function report(): void {
  const { commits, news, refusals, cut, serverCpu, clientCpu } = measured
  const figures: Figure[] = []
  const add = (name: string, value: number, note: string, unit = 'ms') =>
    figures.push({ name, server: server.name, unit, value: spreadOf([value]), note })
  const addTimes = (name: string, times: number[], note: string) => {
    const sorted = times.toSorted((a, b) => a - b)
    add(`${name}, median`, spreadOf(times).median, note)
    add(`${name}, P99`, sorted[Math.ceil(times.length * 0.99) - 1] ?? Number.NaN, '')
    add(`${name}, maximum`, sorted.at(-1) ?? Number.NaN, `of ${times.length}`)
  }
  const way = `${delayMs} ms`
  add('PATCH', spreadOf(commits).median, 'until it was answered, median')
  addTimes('news sent to a verifier', news, `by the server; ${way} before they arrive`)
  addTimes(
    'first refusal',
    refusals,
    `the ${way} and the work of all verifiers on one core included`,
  )
  add('CPU of the server until then', spreadOf(serverCpu).median, 'requests held again included')
  add('CPU of verifiers, proxy and clients until then', spreadOf(clientCpu).median, 'on their core')
  const note = `maxStale is ${maxStaleMs}`
  add('refusal without contact, median', spreadOf(cut).median, `of ${cut.length} that were cut off`)
  add('refusal without contact, maximum', Math.max(...cut), note)
  const scope = `${verifiers} verifiers in ${processes} processes, ${held} held requests besides, rounds: ${rounds}; ${delayMs} ms added each way. The server on one core.`
  const results = { machine: measuredOn, scope, reads: [], figures }
  const isQuick = verifiers < 1_000 || held < 9_000
  saveResults(`${isQuick ? 'quick-' : ''}revocation-at-verifiers`, results)
  process.stdout.write(`${resultsText(results)}\n`)
}
