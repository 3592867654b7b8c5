import { generateKeyPairSync } from 'node:crypto'
import {
  type PublishedKeys,
  parseKeys,
} from '../../../packages/agents/src/follow/published-keys.ts'

const { x, y } = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({
  format: 'jwk',
})

/** A P-256 key of a key set, with any `kid` and `alg`. */
export function jwkOf(kid: unknown, alg: unknown = 'ES256'): Record<string, unknown> {
  return { kty: 'EC', crv: 'P-256', x, y, kid, alg }
}

/** The published documents of a project with these keys, as the follower reads them. */
export function publishedKeys(
  keys: readonly unknown[],
  { project = 'p', fullKeys = keys }: { project?: string; fullKeys?: readonly unknown[] } = {},
): PublishedKeys {
  return {
    project,
    projectId: project,
    etag: '"e"',
    head: { revision: 1, hashStart: '0123abcd' },
    jwks: parseKeys({ keys }) ?? [],
    fullJwks: parseKeys({ keys: fullKeys }) ?? [],
    discovery: { issuer: `https://keys.example/v1/projects/${project}` },
  }
}
