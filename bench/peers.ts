/**
 * CPU time per request for a key set, of Pubring on SQLite and of other servers that run already: nginx
 * with a file, Ory Hydra, Keycloak, or any other, each given as NAME=URL,PID. All are measured in the
 * same shuffled rounds on the same core, and compared with the lean baseline of `npm run bench`. They
 * are warmed up first, since a Java server needs a tenth of the CPU after a minute of load.
 *
 *   npm run bench:peers -- --peer nginx=http://127.0.0.1:8080/jwks.json,1234 [--peer …] [--rounds 10] [--warm-up 60]
 */
import process from 'node:process'
import { parseArgs } from 'node:util'
import { connections, full } from './config.ts'
import { startGenerator } from './load/client.ts'
import type { Call } from './load/task.ts'
import { withChildren } from './load/usage.ts'
import { lean } from './reads/lean.ts'
import { operations } from './reads/operations.ts'
import { shuffled, spreadOf } from './report/spread.ts'
import { numberText, tableText } from './report/table.ts'
import { startBaseline } from './server/baseline.ts'
import { capture, captureCall } from './server/capture.ts'
import { pin, serverCores } from './server/cores.ts'
import { createDatabases } from './server/databases.ts'
import { createFixtures } from './server/fixtures.ts'
import { startServer } from './server/start.ts'

interface Peer {
  name: string
  port: number
  path: string
  pids: number[]
}

const { values } = parseArgs({
  options: {
    peer: { type: 'string', multiple: true, default: [] },
    rounds: { type: 'string', default: String(full.rounds) },
    seconds: { type: 'string', default: String(full.seconds) },
    'warm-up': { type: 'string', default: '60' },
  },
})

/** Parses `NAME=http://127.0.0.1:PORT/PATH,PID`; its child processes are measured too. */
function parsePeer(text: string): Peer {
  const [, name = '', address = '', pid = ''] = /^([^=]+)=(http:[^,]+),(\d+)$/.exec(text) ?? []
  const { hostname, port, pathname, search } = new URL(address || 'http://missing')
  if (hostname !== '127.0.0.1') {
    throw new Error(`--peer is NAME=http://127.0.0.1:PORT/PATH,PID, and not ${text}.`)
  }
  const pids = withChildren(Number(pid))
  return { name, port: Number(port || 80), path: pathname + search, pids }
}

/** Expects a body of this length alone: Hydra sends its keys in another order each time. */
async function captureLength(port: number, path: string): Promise<Call> {
  const request = { method: 'GET', path, headers: {} }
  const { expected } = await captureCall(port, request)
  const length = Buffer.byteLength(expected.body ?? '')
  return { ...request, expected: { status: expected.status, length } }
}

const peers = values.peer.map(parsePeer)
const [jwks] = operations
if (jwks === undefined) throw new Error('there is no operation to compare')
const rounds = Number(values.rounds)
const databases = createDatabases()
const generator = startGenerator()
const baseline = await startBaseline()
try {
  const server = await startServer(await databases.create('sqlite'))
  const request = jwks.call(await createFixtures(server.replica))
  const response = lean(await capture(server.port, request))
  const call = await captureCall(server.port, request)
  for (const { pids } of [server, ...peers]) pin(pids, serverCores)
  const port = await baseline.serve(response)
  const servers = [
    { name: 'baseline', port, pids: baseline.pids, calls: [call], micros: [] as number[] },
    { name: 'Pubring', port: server.port, pids: server.pids, calls: [call], micros: [] },
  ]
  for (const { name, port, path, pids } of peers) {
    servers.push({ name, port, pids, calls: [await captureLength(port, path)], micros: [] })
  }
  const measure = async ({ port, pids, calls }: (typeof servers)[number], seconds: number) => {
    const run = await generator.run({ port, pids, connections, calls, seconds })
    return run.cpuMicros / run.answered
  }
  for (const each of servers) await measure(each, Number(values['warm-up']))
  for (let round = 0; round < rounds; round += 1) {
    for (const each of shuffled(servers)) {
      each.micros.push(await measure(each, Number(values.seconds)))
    }
  }
  const [floor] = servers
  const rows = servers.map(({ name, micros }) => {
    const ratio = spreadOf(micros.map((value, round) => value / (floor?.micros[round] ?? 0)))
    return [name, numberText(spreadOf(micros).median), numberText(ratio.median)]
  })
  process.stdout.write(`${tableText(['server', 'CPU µs/request', 'baseline = 1'], rows)}\n`)
  await server.close()
} finally {
  generator.close()
  baseline.close()
  await databases.close()
}
