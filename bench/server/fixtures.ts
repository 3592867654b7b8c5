import { generateKeyPair } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { createProject, type Replica, registerKey } from '../../test/support/server/replicas.ts'
import { capture } from './capture.ts'

/** The API key and the projects of a server while its reads are measured. */
export interface Fixtures {
  apiKey: string
  /** Ids of projects with 3 and with 50 keys. */
  three: string
  fifty: string
  /** The keys, oldest first: all 50, of which the first three are in both projects. */
  pems: string[]
  /** Ids of the three keys. */
  kids: string[]
  /** Entity tag of the key set of the three. */
  etag: string
}

const newPair = promisify(generateKeyPair)

async function publicPems(count: number): Promise<string[]> {
  const pairs = await Promise.all(
    Array.from({ length: count }, () => newPair('rsa', { modulusLength: 2_048 })),
  )
  return pairs.map(({ publicKey }) => publicKey.export({ type: 'spki', format: 'pem' }).toString())
}

/**
 * Registers 50 new RSA-2048 keys in one project, and the first three of them in another. Resolves once
 * their roles no longer change with time, and with them the size of responses: after a minute.
 */
export async function createFixtures(replica: Replica): Promise<Fixtures> {
  const pems = await publicPems(50)
  const three = await createProject(replica, 'bench-3')
  const fifty = await createProject(replica, 'bench-50')
  const kids = await register(replica, three, pems.slice(0, 3))
  const lastKid = (await register(replica, fifty, pems)).at(-1)
  const path = `/v1/projects/${three}/.well-known/jwks.json`
  const port = Number(new URL(replica.url).port)
  const { headers } = await capture(port, { method: 'GET', path, headers: {} })
  const etag = headers[headers.findIndex((name) => name.toLowerCase() === 'etag') + 1] ?? ''
  await whenConverged(replica, `/v1/projects/${fifty}/jwt-keys/${lastKid}`)
  return { apiKey: replica.apiKey, three, fifty, pems, kids, etag }
}

async function whenConverged(replica: Replica, path: string): Promise<void> {
  const { body } = await replica.call('GET', path)
  await sleep(Math.max(0, Date.parse(JSON.parse(body).details.convergedTime) - Date.now()))
}

async function register(replica: Replica, project: string, pems: string[]): Promise<string[]> {
  const kids: string[] = []
  for (const pem of pems) kids.push(await registerKey(replica, project, pem, 'RS256'))
  return kids
}
