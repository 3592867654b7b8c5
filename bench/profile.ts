/**
 * Where the server's time goes while one operation is asked as fast as it answers: the functions with
 * the most time of their own, from profiles of V8 (--cpu-prof), one for each of its threads, and the
 * parts that they belong to. The start of the process is in them.
 *
 *   npm run bench:profile -- --operation 'create P-256' [--engine postgres]
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { registerEc } from './creates/ec-creates.ts'
import { createRsaGroups, registerRsa } from './creates/rsa-creates.ts'
import { createFreshKeys } from './fill/fresh-keys.ts'
import { type LoadGenerator, startGenerator } from './load/client.ts'
import { type Operation, operations } from './operations.ts'
import { profileText, readProfiles } from './report/profiles.ts'
import { capture } from './server/capture.ts'
import { createDatabases, type Subject, startSubject } from './server/subject.ts'
import { connections } from './settings.ts'
import { stockShelf } from './shelf.ts'

const seconds = 10

/** Some seconds of work. */
const ecKeys = 12_800

const { values } = parseArgs({
  options: {
    operation: { type: 'string', default: operations[0]?.name ?? '' },
    engine: { type: 'string', default: 'sqlite' },
  },
})

type Load = (generator: LoadGenerator, subject: Subject) => Promise<unknown>

const loads = new Map<string, Load>([
  ...operations.map((operation): [string, Load] => [operation.name, reading(operation)]),
  ['create P-256', createP256],
  ['create RSA-2048', async (...under) => registerRsa(...under, await createRsaGroups())],
])

function reading(operation: Operation): Load {
  return async (generator, subject) => {
    const call = operation.call(await stockShelf(subject.replica))
    const { status, body } = await capture(subject.port, call)
    const calls = [{ ...call, expected: { status, body } }]
    await generator.run({ port: subject.port, pids: [], connections, calls, seconds })
  }
}

async function createP256(generator: LoadGenerator, subject: Subject): Promise<void> {
  const keys = createFreshKeys()
  try {
    await registerEc(generator, subject, await keys.take(ecKeys))
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
  const database = await databases.make(values.engine === 'postgres' ? 'postgres' : 'sqlite')
  const options = `--cpu-prof --cpu-prof-dir=${folder}`
  const subject = await startSubject(database, { nodeOptions: options })
  try {
    await load(generator, subject)
    subject.replica.signal('SIGTERM')
    await subject.replica.ended
  } finally {
    await subject.close()
  }
  for (const { thread, profile } of readProfiles(folder)) {
    process.stdout.write(profileText(`${values.operation}, ${thread}`, profile))
  }
} finally {
  generator.close()
  await databases.close()
  rmSync(folder, { recursive: true, force: true })
}
