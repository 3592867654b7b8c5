/**
 * Profiles the server under full load of one operation: the functions and the parts of the code with
 * the most self time, for each thread, from V8's profiles (--cpu-prof). Includes the start of the
 * process.
 *
 *   npm run bench:profile -- --operation 'create P-256' [--engine postgres]
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { connections } from './config.ts'
import { registerEc } from './creates/ec-creates.ts'
import { createRsaGroups, registerRsa } from './creates/rsa-creates.ts'
import { createFreshKeys } from './fill/fresh-keys.ts'
import { type LoadGenerator, startGenerator } from './load/client.ts'
import { type Operation, operations } from './reads/operations.ts'
import { profileText, readProfiles } from './report/profiles.ts'
import { captureCall } from './server/capture.ts'
import { createDatabases } from './server/databases.ts'
import { createFixtures } from './server/fixtures.ts'
import { type BenchServer, startServer } from './server/start.ts'

const seconds = 10

/** Enough for some seconds. */
const ecKeys = 12_800

const { values } = parseArgs({
  options: {
    operation: { type: 'string', default: operations[0]?.name ?? '' },
    engine: { type: 'string', default: 'sqlite' },
  },
})

type Load = (generator: LoadGenerator, server: BenchServer) => Promise<unknown>

const loads = new Map<string, Load>([
  ...operations.map((operation): [string, Load] => [operation.name, reading(operation)]),
  ['create P-256', createP256],
  ['create RSA-2048', async (...target) => registerRsa(...target, await createRsaGroups())],
])

function reading(operation: Operation): Load {
  return async (generator, server) => {
    const { port, replica } = server
    const calls = [await captureCall(port, operation.call(await createFixtures(replica)))]
    await generator.run({ port, pids: [], connections, calls, seconds })
  }
}

async function createP256(generator: LoadGenerator, server: BenchServer): Promise<void> {
  const keys = createFreshKeys()
  try {
    await registerEc(generator, server, await keys.take(ecKeys))
  } finally {
    await keys.close()
  }
}

const load = loads.get(values.operation)
if (load === undefined) throw new Error(`--operation is one of: ${[...loads.keys()].join('; ')}.`)
const folder = mkdtempSync(join(tmpdir(), 'pubring-profile-'))
const databases = createDatabases()
const generator = startGenerator()
try {
  const database = await databases.create(values.engine === 'postgres' ? 'postgres' : 'sqlite')
  const options = `--cpu-prof --cpu-prof-dir=${folder}`
  const server = await startServer(database, { nodeOptions: options })
  try {
    await load(generator, server)
    server.replica.signal('SIGTERM')
    await server.replica.ended
  } finally {
    await server.close()
  }
  for (const { thread, profile } of readProfiles(folder)) {
    process.stdout.write(profileText(`${values.operation}, ${thread}`, profile))
  }
} finally {
  generator.close()
  await databases.close()
  rmSync(folder, { recursive: true, force: true })
}
