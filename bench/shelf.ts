import { generateKeyPair } from 'node:crypto'
import { promisify } from 'node:util'
import { createProject, type Replica } from '../test/support/server/replicas.ts'
import { capture } from './server/capture.ts'

/** What a server holds while its reads are measured. */
export interface Shelf {
  apiKey: string
  /** Projects with 3 and with 50 keys. */
  three: string
  fifty: string
  /** Of the keys, oldest first: all 50, and the first three of them in both projects. */
  pems: string[]
  /** Ids of the three. */
  kids: string[]
  /** Of the key set of the three. */
  etag: string
}

const newPair = promisify(generateKeyPair)

async function publicPems(count: number): Promise<string[]> {
  const pairs = await Promise.all(
    Array.from({ length: count }, () => newPair('rsa', { modulusLength: 2_048 })),
  )
  return pairs.map(({ publicKey }) => publicKey.export({ type: 'spki', format: 'pem' }).toString())
}

/** Registers 50 fresh RSA-2048 keys in one project, three of them in another one too. */
export async function stockShelf(replica: Replica): Promise<Shelf> {
  const pems = await publicPems(50)
  const three = await createProject(replica, 'bench-3')
  const fifty = await createProject(replica, 'bench-50')
  const kids = await register(replica, three, pems.slice(0, 3))
  await register(replica, fifty, pems)
  const path = `/v1/projects/${three}/.well-known/jwks.json`
  const { headers } = await capture(Number(new URL(replica.url).port), {
    method: 'GET',
    path,
    headers: {},
  })
  const etag = headers[headers.findIndex((name) => name.toLowerCase() === 'etag') + 1] ?? ''
  return { apiKey: replica.apiKey, three, fifty, pems, kids, etag }
}

async function register(replica: Replica, project: string, pems: string[]): Promise<string[]> {
  const kids: string[] = []
  for (const publicKeyPem of pems) {
    const body = { name: 'bench', algorithm: 'RS256', publicKeyPem }
    const answer = await replica.call('POST', `/v1/projects/${project}/jwt-keys`, body)
    if (answer.status !== 201) throw new Error(`no key: ${answer.status} ${answer.body}`)
    kids.push(JSON.parse(answer.body).kid)
  }
  return kids
}
