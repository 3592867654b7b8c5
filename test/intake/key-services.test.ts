import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { containsSecret } from '../../packages/intake/src/secrets/index.ts'
import { codeOf, examine, fixture, rejected } from '../support/keys/intake.ts'

/*
 * The JSON that the tools of key management services print. Those of transit were printed by OpenBao 2.7; the
 * others follow the references of the services.
 */

const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const ed = generateKeyPairSync('ed25519')
type Pair = { publicKey: KeyObject }
const pem = ({ publicKey }: Pair) => publicKey.export({ type: 'spki', format: 'pem' }).toString()
const spki = ({ publicKey }: Pair) =>
  publicKey.export({ type: 'spki', format: 'der' }).toString('base64')
const jwk = ({ publicKey }: Pair) => publicKey.export({ format: 'jwk' })

const aws = (more: object) => ({
  KeyId: 'arn:aws:kms:eu-west-1:111122223333:key/1234abcd',
  PublicKey: spki(ec),
  KeySpec: 'ECC_NIST_P256',
  KeyUsage: 'SIGN_VERIFY',
  SigningAlgorithms: ['ECDSA_SHA_256'],
  ...more,
})
const google = (algorithm: string, pair: Pair = rsa) => ({
  algorithm,
  name: 'projects/p/locations/global/keyRings/r/cryptoKeys/orders/cryptoKeyVersions/1',
  pem: pem(pair),
  pemCrc32c: '1234567890',
  protectionLevel: 'HSM',
})
const kid = 'https://acme.vault.azure.net/keys/orders/0123456789abcdef0123456789abcdef'
/** The tool prints every member of every type, in base64 with padding. */
const none = {
  crv: null,
  d: null,
  dp: null,
  dq: null,
  k: null,
  p: null,
  q: null,
  qi: null,
  t: null,
}
const azure = (more: object) => ({
  attributes: { enabled: true, expires: null, tags: { team: 'Zürich' } },
  key: { ...none, x: null, y: null, keyOps: ['sign', 'verify'], kid, ...more },
})
const azureWith = (attributes: object) => ({ ...azure({ ...jwk(ec), kty: 'EC' }), attributes })
const { n = '' } = jwk(rsa)
const padded = Buffer.from(n, 'base64url').toString('base64')
const transit = (keys: object, more = {}) => ({
  data: { keys, latest_version: 1, supports_signing: true, type: 'ecdsa-p256', ...more },
})
const raw = Buffer.from(jwk(ed).x ?? '', 'base64url').toString('base64')

describe('one key that signs is taken', () => {
  test.each<[string, object, Pair]>([
    ['AWS KMS', aws({}), ec],
    ['AWS KMS, RSA', aws({ PublicKey: spki(rsa), KeyUsage: undefined }), rsa],
    ['Google Cloud KMS', google('EC_SIGN_P256_SHA256', ec), ec],
    ['Azure Key Vault', azure({ kty: 'RSA', n: padded, e: 'AQAB' }), rsa],
    ['Azure Key Vault, in hardware', azure({ ...jwk(ec), kty: 'EC-HSM' }), ec],
    ['Azure Key Vault, expiring', azureWith({ expires: '2999-01-01T00:00:00+00:00' }), ec],
    ['Azure Key Vault, expiring, by the service', azureWith({ exp: 32_472_144_000 }), ec],
    ['Azure Key Vault, the key alone', azure({ ...jwk(ec), kty: 'EC' }).key, ec],
    ['transit', transit({ 1: { public_key: pem(ec), name: 'P-256' } }), ec],
    ['transit, Ed25519', transit({ 3: { public_key: raw, name: 'ed25519' } }), ed],
    ['transit, the keys alone', { 1: { public_key: pem(ec), name: 'P-256' } }, ec],
  ])('%s', (_name, document, pair) => {
    for (const text of [JSON.stringify(document), `\uFEFF${JSON.stringify(document, null, 2)}\n`]) {
      const verdict = examine(text)
      if (!verdict.ok) expect.fail(verdict.faults[0].detail)
      expect(createPublicKey(verdict.key.publicKeyPem).equals(pair.publicKey)).toBe(true)
      expect(verdict.normalised).toContain('key_service')
    }
  })

  test('ML-DSA', () => {
    // The SPKI ends with the bytes of the key.
    const der = Buffer.from(spki(generateKeyPairSync('ml-dsa-44')), 'base64')
    const version = { public_key: der.subarray(-1312).toString('base64'), name: 'mldsa-44' }
    expect(examine(JSON.stringify(transit({ 1: version })))).toMatchObject({
      ok: true,
      jwsAlgorithm: 'ML-DSA-44',
    })
  })

  test.each(['j35-aws-kms', 'j37-gcp-kms', 'j38-key-vault', 'j38b-rsa-hsm'])('%s', (file) => {
    expect(codeOf(fixture(`formats/${file}.json`))).toBe('ok')
  })
})

test('a key of Google signs with its own algorithm alone', () => {
  const pss = JSON.stringify(google('RSA_SIGN_PSS_2048_SHA256'))
  expect(examine(pss)).toMatchObject({ ok: true, jwsAlgorithm: 'PS256' })
  const [fault] = rejected(pss, 'RS256').faults
  expect(fault.code).toBe('algorithm_mismatch')
  expect(fault.detail).toContain('RSA 2048-bit for PS256. Use one of: PS256.')
  const sha512 = JSON.stringify(google('RSA_SIGN_PKCS1_4096_SHA512'))
  expect(examine(sha512)).toMatchObject({ ok: true, jwsAlgorithm: 'RS512' })
  expect(examine(JSON.stringify(google('RSA_SIGN_PKCS1_2048_SHA256')), 'RSA').ok).toBe(true)
  expect(examine(JSON.stringify(google('RSA_SIGN_RAW_PKCS1_2048')), 'RS384').ok).toBe(true)
  // The algorithm of another type of key says nothing of this one.
  expect(codeOf(JSON.stringify(google('RSA_SIGN_PSS_2048_SHA256', ec)))).toBe('ok')
})

describe('a key that signs nothing is refused by its purpose', () => {
  test.each<[string, object, string]>([
    [
      'ENCRYPT_DECRYPT',
      aws({ KeyUsage: 'ENCRYPT_DECRYPT' }),
      'KeyUsage is ENCRYPT_DECRYPT. Create',
    ],
    ['KEY_AGREEMENT', aws({ KeyUsage: 'KEY_AGREEMENT' }), 'KeyUsage is KEY_AGREEMENT. Create'],
    ['another usage', aws({ KeyUsage: 'SECRET' }), 'KeyUsage is not SIGN_VERIFY. Create'],
    ['decryption', google('RSA_DECRYPT_OAEP_2048_SHA256'), 'algorithm is for decryption. Create'],
    ['another purpose', google('KEM_XWING'), 'algorithm is not for signatures. Create'],
    ['operations', azure({ ...jwk(ec), kty: 'EC', keyOps: ['wrapKey'] }), 'have no “sign”. Create'],
    ['disabled', azureWith({ enabled: false, expires: null }), 'is disabled. Enable it'],
    ['expired', azureWith({ enabled: true, expires: '2020-01-01T00:00:00+00:00' }), 'has expired.'],
    ['expired, by the service', azureWith({ exp: 1_577_836_800 }), 'has expired. Rotate it'],
    ['a symmetric key', transit({ 1: 1796048369 }, { supports_signing: false }), 'signs nothing.'],
    [
      'a derived key',
      transit({ 1: { public_key: '', name: 'ed25519' } }),
      'is derived, and has no',
    ],
  ])('%s', (_name, document, words) => {
    const [{ code, detail }] = rejected(JSON.stringify(document)).faults
    expect(code).toBe('not_for_signatures')
    expect(detail).toContain(words)
    expect(detail).not.toContain('SECRET')
  })
})

test('of several versions the API takes none, and names both ways on', () => {
  const [{ code, detail }] = rejected(fixture('formats/j34-vault-transit.json')).faults
  expect(code).toBe('jwk_submitted')
  expect(detail).toMatch(/2 versions\. .*pubring import key\.json.* To print the newest: jq /)
})

test('a bad key in such JSON is refused as elsewhere', () => {
  const weak = fixture('keys/rsa/bits-1024.pem')
  expect(codeOf(JSON.stringify({ ...google('RSA_SIGN_PKCS1_2048_SHA256'), pem: weak }))).toBe(
    'rsa_modulus_too_small',
  )
  const cut = JSON.stringify(aws({ PublicKey: spki(ec).slice(0, 40) }))
  expect(codeOf(cut)).toMatch(/^(?:spki|pem)_/)
  const koblitz = azure({ kty: 'EC', crv: 'P-256K', x: jwk(ec).x, y: jwk(ec).y })
  expect(rejected(JSON.stringify(koblitz)).faults[0].detail).toContain('member crv is not')
  const secret = azure({ ...ec.privateKey.export({ format: 'jwk' }), kty: 'EC' })
  expect(codeOf(JSON.stringify(secret))).toBe('private_key_submitted')
})

test('a member that is null is no secret', () => {
  const text = JSON.stringify(azure({ kty: 'RSA', n: padded, e: 'AQAB' }), null, 1)
  expect(containsSecret(text, 16_384)).toBe(false)
  // Also where the text is cut off, so that it is no JSON.
  expect(containsSecret(text.slice(0, -3), 16_384)).toBe(false)
  expect(containsSecret('{"kty": "oct", "k": "nullnullnullnull"}', 16_384)).toBe(true)
})
