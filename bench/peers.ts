/**
 * CPU time per request for a key set, of Pubring on SQLite and of other servers that run already: nginx
 * with a file, Ory Hydra, Keycloak, or any other, each given as NAME=URL,PID. All are measured in the
 * same shuffled rounds on the same core, and compared with the lean baseline of `npm run bench`.
 *
 *   npm run bench:peers -- --peer nginx=http://127.0.0.1:8080/jwks.json,1234 [--peer …] [--rounds 10]
 */
import process from 'node:process'
import { parseArgs } from 'node:util'
import { connections, full } from './config.ts'
import { startGenerator } from './load/client.ts'
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
  },
})

/** Of `NAME=http://127.0.0.1:PORT/PATH,PID`; its child processes are measured too. */
function parsePeer(text: string): Peer {
  const [, name = '', address = '', pid = ''] = /^([^=]+)=(http:[^,]+),(\d+)$/.exec(text) ?? []
  const { hostname, port, pathname, search } = new URL(address || 'http://missing')
  if (hostname !== '127.0.0.1') {
    throw new Error(`--peer is NAME=http://127.0.0.1:PORT/PATH,PID, and not ${text}.`)
  }
  const pids = withChildren(Number(pid))
  return { name, port: Number(port || 80), path: pathname + search, pids }
}

const peers = values.peer.map(parsePeer)
const [jwks] = operations
if (jwks === undefined) throw new Error('there is no operation to compare')
const seconds = Number(values.seconds)
const databases = createDatabases()
const generator = startGenerator()
const baseline = await startBaseline()
try {
  const server = await startServer(await databases.create('sqlite'))
  const request = jwks.call(await createFixtures(server.replica))
  const response = lean(await capture(server.port, request))
  const call = await captureCall(server.port, request)
  for (const { pids } of [server, ...peers]) pin(pids, serverCores(1))
  const measure = async (port: number, pids: number[], calls = [call]) => {
    const run = await generator.run({ port, pids, connections, calls, seconds })
    return run.cpuMicros / run.answered
  }
  const servers = [
    {
      name: 'baseline',
      micros: [] as number[],
      run: async () => measure(await baseline.serve(response), baseline.pids),
    },
    { name: 'Pubring', micros: [] as number[], run: () => measure(server.port, server.pids) },
  ]
  for (const { name, port, path, pids } of peers) {
    const calls = [await captureCall(port, { method: 'GET', path, headers: {} })]
    servers.push({ name, micros: [], run: () => measure(port, pids, calls) })
  }
  for (const { run } of servers) await run()
  for (let round = 0; round < Number(values.rounds); round += 1) {
    for (const { micros, run } of shuffled(servers)) micros.push(await run())
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
