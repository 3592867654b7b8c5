import { createHash, createPublicKey, generateKeyPairSync } from 'node:crypto'
import type { KeyImport } from '../../../packages/server/src/features/keys/changes.ts'
import type { KeyRecord } from '../../../packages/server/src/features/keys/stored.ts'
import { newId } from '../../../packages/server/src/kernel/values/ids.ts'
import { origin } from './store.ts'

/** A record of a new P-256 key, computed with node:crypto only. */
export function keyRecord(projectId: string, members: Partial<KeyRecord> = {}): KeyRecord {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
  const spki = createPublicKey(publicKey.export({ format: 'pem', type: 'spki' }))
  const digest = (data: string | Uint8Array) => createHash('sha256').update(data)
  const time = '2026-01-02T03:04:05.678Z'
  return {
    id: newId(),
    projectId,
    label: 'signer',
    algorithm: 'ES256',
    publicKeyPem: publicKey.export({ format: 'pem', type: 'spki' }).toString(),
    enabled: true,
    createTime: time,
    updateTime: time,
    publishTime: time,
    jwsAlgorithm: 'ES256',
    jwk: { kty: 'EC', crv: 'P-256', x, y },
    thumbprint: digest(`{"crv":"P-256","kty":"EC","x":"${x}","y":"${y}"}`).digest('base64url'),
    spkiSha256: digest(spki.export({ format: 'der', type: 'spki' })).digest('hex'),
    materialSha256: digest(Buffer.from(x, 'base64url')).digest('hex'),
    normalised: [],
    ...members,
  }
}

/** A key that differs from the template by its hashes alone, since thousands of pairs would take seconds. */
export function distinctKey(template: KeyRecord, id = newId()): KeyRecord {
  return {
    ...template,
    ...{ id, thumbprint: `t-${id}`, spkiSha256: `s-${id}`, materialSha256: `m-${id}` },
  }
}

/** The import of keys of one project, with room for thousands. */
export function keyImport(
  keys: readonly KeyRecord[],
  { kidProvided = false, ...more }: Partial<KeyImport> & { kidProvided?: boolean } = {},
): KeyImport {
  return {
    origin: origin(),
    projectId: keys[0]?.projectId ?? '',
    keys: keys.map((key, index) => ({ index, key, kidProvided })),
    limits: { maxKeys: 5_000, maxJwksBytes: 10_000_000 },
    compared: [],
    dryRun: false,
    ...more,
  }
}
