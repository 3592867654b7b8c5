import { type Client, createClient } from '../../client/src/index.ts'
import { keyFor } from '../../test/support/keys/tokens.ts'
import type { Subject } from '../server/subject.ts'

/** A project of its own on the measured service. */
export interface Registry {
  issuer: string
  /** Where the service itself listens: `http://127.0.0.1:PORT`. */
  origin: string
  /** Registers a new key and answers its kid. */
  register(): Promise<string>
  /** Resolves with the moment of the answer, in milliseconds of `performance.now()`. */
  deactivate(kid: string): Promise<number>
  remove(kid: string): Promise<void>
}

export async function createRegistry(subject: Subject, name: string): Promise<Registry> {
  const { url: origin, apiKey } = subject.replica
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

/** The same address on another port. */
export function through(origin: string, { issuer, origin: own }: Registry): string {
  return issuer.replace(own, origin)
}
