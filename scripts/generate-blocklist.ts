/**
 * Writes `src/intake/blocklists/published-keys.bin` from `published-keys.json` and the key pairs of
 * RFC 9964, which are derived from a seed of 32 zero bytes. The format is that of `blocklist.dat` of
 * badkeys: sorted records of 15 bytes of SHA-256 and a list number, here 0.
 *
 *   node scripts/generate-blocklist.ts
 *
 * `published-keys.json` has the public keys of pairs whose private key is printed in the document
 * that `source` names: `n` of an RSA key, `x` of an EC or Ed25519 key, in base64url. Each was compared
 * with the private key or, for the RSA keys of jwt.io, with a token that it signed. The private keys
 * are not stored here.
 *
 * Lists of thousands to millions of keys belong in the operator's file: the Debian keys of 2008, those
 * of the npm package keypair, and keys from firmware and from the tests of other projects.
 */
import { createPrivateKey, createPublicKey } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { encode, encodePkcs8 } from '../src/intake/encoding/der-writer.ts'
import { sha256Hex } from '../src/intake/encoding/jwk.ts'
import { mlDsaSets } from '../src/intake/kinds/ml-dsa-sets.ts'

interface PublishedKey {
  source: string
  kty: 'RSA' | 'EC' | 'OKP'
  n?: string
  x?: string
}

const published: PublishedKey[] = JSON.parse(
  readFileSync(new URL('published-keys.json', import.meta.url), 'utf8'),
)

/** The public key of the all-zero seed (RFC 9881 section 6). */
function zeroSeedKey(dotted: string, length: number): Uint8Array {
  const key = Buffer.from(encodePkcs8(dotted, encode(0x80, new Uint8Array(32))))
  const privateKey = createPrivateKey({ key, format: 'der', type: 'pkcs8' })
  return createPublicKey(privateKey).export({ format: 'der', type: 'spki' }).subarray(-length)
}

/** First 15 bytes of SHA-256, in hex. RSA and EC numbers lose their leading zero bytes. */
function hashOf(material: Uint8Array, isNumber: boolean): string {
  const first = isNumber ? material.findIndex((byte) => byte !== 0) : 0
  return sha256Hex(material.subarray(first)).slice(0, 30)
}

export function publishedRecords(): Buffer {
  const hashes = [
    ...published.map(({ kty, n, x }) =>
      hashOf(Buffer.from(n ?? x ?? '', 'base64url'), kty !== 'OKP'),
    ),
    ...mlDsaSets.map(({ oid, length }) => hashOf(zeroSeedKey(oid, length), false)),
  ]
  return Buffer.from(
    hashes
      .toSorted()
      .map((hash) => `${hash}00`)
      .join(''),
    'hex',
  )
}

const target = new URL('../src/intake/blocklists/published-keys.bin', import.meta.url)
if (import.meta.main) writeFileSync(target, publishedRecords())
