import { expect, test } from 'vitest'
import { keyChanges } from '../../../packages/server/src/features/keys/changes.ts'
import { publish } from '../../../packages/server/src/features/keys/published/texts.ts'
import type { KeyRecord } from '../../../packages/server/src/features/keys/stored.ts'
import { rsaKey } from '../../support/keys/pem.ts'
import { modulusOf, rsaRecord } from '../../support/keys/weak-keys.ts'
import { keyRecord } from '../../support/store/key-records.ts'
import { createProject, limits, openTestStore, origin } from '../../support/store/store.ts'

const opened = await openTestStore()
const store = opened.store

const create = (key: KeyRecord, maxJwksBytes = limits.maxJwksBytes) =>
  store.commit(keyChanges.createKey, {
    origin: origin(),
    key,
    limits: { ...limits, maxJwksBytes },
  })

test('the size limit of the key set is exact to the byte, for every type of key', async () => {
  const { id } = await createProject(store, 'exact')
  const [later, earlier] = ['2027-01-01T00:00:00.000Z', '2025-01-01T00:00:00.000Z']
  const published = [
    keyRecord(id),
    rsaRecord(id, modulusOf(rsaKey().publicKeyPem)),
    keyRecord(id, {
      algorithm: 'EdDSA',
      jwsAlgorithm: 'EdDSA',
      jwk: { kty: 'OKP', crv: 'Ed25519', x: 'A'.repeat(43) },
    }),
    keyRecord(id, {
      algorithm: 'ML-DSA-44',
      jwsAlgorithm: 'ML-DSA-44',
      jwk: { kty: 'AKP', alg: 'ML-DSA-44', pub: 'A'.repeat(1_750) },
    }),
    keyRecord(id, { expireTime: later }),
  ]
  const [first = keyRecord(id)] = published
  const alone = publish([first], origin().time, false).jwksFull
  const refused = expect.objectContaining({ code: 'jwks_too_large' })
  await expect(create(first, alone.length - 1)).rejects.toEqual(refused)
  for (const key of published) await create(key)
  await create(keyRecord(id, { enabled: false }))
  await create(keyRecord(id, { expireTime: earlier }))
  const next = keyRecord(id)
  const bytes = Buffer.byteLength(publish([...published, next], origin().time, false).jwksFull)
  await expect(create(next, bytes - 1)).rejects.toEqual(refused)
  expect(await create(next, bytes)).toEqual(next)
})
