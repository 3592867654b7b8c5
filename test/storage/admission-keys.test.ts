import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Store } from '../../src/core/context.ts'
import { jwksText } from '../../src/core/keys/jwks.ts'
import type { KeyRecord } from '../../src/core/records.ts'
import { rsaKey } from '../support/keys/pem.ts'
import { modulusOf, rsaRecord } from '../support/keys/weak-keys.ts'
import { keyRecord } from '../support/store/key-records.ts'
import {
  createProject,
  limits,
  openTestStore,
  origin,
  type TestStore,
} from '../support/store/store.ts'

let opened: TestStore
let store: Store
beforeAll(async () => {
  opened = await openTestStore()
  store = opened.store
})
afterAll(() => opened.dispose())

const create = (key: KeyRecord, maxJwksBytes = limits.maxJwksBytes) =>
  store.commit({
    type: 'key.create',
    origin: origin(),
    key,
    limits: { ...limits, maxJwksBytes },
  })

test('the octets of the key set are counted to the last one, whatever kinds of keys are in it', async () => {
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
  for (const key of published) await create(key)
  await create(keyRecord(id, { enabled: false }))
  await create(keyRecord(id, { expireTime: earlier }))
  const next = keyRecord(id)
  const octets = Buffer.byteLength(jwksText([...published, next], origin().time))
  const refused = expect.objectContaining({ code: 'jwks_too_large' })
  await expect(create(next, octets - 1)).rejects.toEqual(refused)
  expect(await create(next, octets)).toEqual(next)
})

test('the first key of a project is counted as well', async () => {
  const { id } = await createProject(store, 'first')
  const key = keyRecord(id)
  const { length } = jwksText([key], origin().time)
  const refused = expect.objectContaining({ code: 'jwks_too_large' })
  await expect(create(key, length - 1)).rejects.toEqual(refused)
  expect(await create(key, length)).toEqual(key)
})
