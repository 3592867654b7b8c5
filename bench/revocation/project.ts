import { type Client, createClient } from '../../packages/client/src/index.ts'
import { keyFor } from '../../test/support/keys/tokens.ts'
import type { BenchServer } from '../server/start.ts'

/** A project on the measured server. */
export interface BenchProject {
  issuer: string
  /** Address of the server: `http://127.0.0.1:PORT`. */
  origin: string
  /** Registers a new key and returns its kid. */
  register(): Promise<string>
  /** Resolves with the time of the response, in milliseconds of `performance.now()`. */
  deactivate(kid: string): Promise<number>
  remove(kid: string): Promise<void>
}

export async function createBenchProject(server: BenchServer, name: string): Promise<BenchProject> {
  const { url: origin, apiKey } = server.replica
  const client: Client = createClient({ url: origin, apiKey })
  const { id } = await client.projects.create({ name })
  return {
    issuer: `${client.url}/projects/${id}`,
    origin,
    async register() {
      const { publicKeyPem } = keyFor('ES256')
      const body = { name: 'bench', algorithm: 'ES256', publicKeyPem } as const
      return (await client.keys.create(id, body)).kid
    },
    async deactivate(kid) {
      await client.keys.update(id, kid, { active: false })
      return performance.now()
    },
    remove: (kid) => client.keys.delete(id, kid),
  }
}

/** The project's issuer, reached through another origin. */
export function issuerVia(origin: string, { issuer, origin: own }: BenchProject): string {
  return issuer.replace(own, origin)
}
