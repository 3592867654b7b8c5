/**
 * Writes `packages/intake/src/blocklists/published-keys.bin` from `published-keys.json`, after adding the key
 * pairs that a document or a program publishes, if one is named:
 *
 *   node scripts/generate-blocklist.ts
 *   node scripts/generate-blocklist.ts "RFC 9500" rfc9500.txt
 *
 * Finds private keys in PEM (also indented, quoted or with escaped line breaks), in DER, as OpenSSH
 * files and as JWKs; key pairs in other notations are converted to JWKs first. The public key is always
 * derived from the printed private key. Only the SHA-256 of its material is stored: the shortest
 * big-endian bytes of n (RSA) or x (EC), or the raw bytes (Ed25519, ML-DSA).
 *
 * The format of the list is that of `blocklist.dat` of badkeys: sorted records of 15 bytes of SHA-256
 * and a number, here that of the document in `published-documents.txt`. Lists of thousands to millions of keys belong in the operator's file.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { deriveExposedKey } from '../packages/intake/src/exposed/derive.ts'
import type { Secret } from '../packages/intake/src/secrets/detector.ts'

/** The materials of published keys by the document that prints the private keys. */
export type PublishedKeys = Record<string, string[]>

const source = new URL('published-keys.json', import.meta.url)
const target = new URL('../packages/intake/src/blocklists/published-keys.bin', import.meta.url)

export function readPublishedKeys(): PublishedKeys {
  return JSON.parse(readFileSync(source, 'utf8'))
}

/** The records of all published keys, each with the number of its document. */
export function publishedRecords(): Buffer {
  const records = Object.values(readPublishedKeys()).flatMap((hashes, document) =>
    hashes.map((hash) => `${hash.slice(0, 30)}${document.toString(16).padStart(2, '0')}`),
  )
  return Buffer.from(records.toSorted().join(''), 'hex')
}

/** The names of the documents, in the order of their numbers. */
export function publishedDocuments(): string {
  return Object.keys(readPublishedKeys())
    .map((name) => `${name}\n`)
    .join('')
}

/** The SHA-256 of the material of every key pair in a file, in the order of the file. */
export function publishedKeysIn(content: Buffer): string[] {
  const secrets =
    content[0] === 0x30 ? [asn1(content)] : secretsIn(withoutPageBreaks(content.toString('utf8')))
  const found = secrets.map((secret) => deriveExposedKey({ secrets: [secret] })?.materialSha256)
  return [...new Set(found.filter((hash) => hash !== undefined))]
}

const asn1 = (bytes: Uint8Array): Secret => ({ kind: 'asn1', bytes })

/** RFCs before 8650 have a footer, a form feed and a header at the end of each page. */
function withoutPageBreaks(text: string): string {
  return text.replace(/\r/g, '').replace(/\n+[^\n]*\[Page \d+\]\n(?:\f?[^\n]*\d{4}\n)?\s*\n/g, '\n')
}

function secretsIn(text: string): Secret[] {
  const pem = /-----BEGIN ([A-Z0-9 ]*)PRIVATE KEY-----(.*?)-----END/gs
  const blocks = [...text.matchAll(pem)].map(([, kind = '', body = '']): Secret => {
    const bytes = Buffer.from(base64Of(body), 'base64')
    return kind === 'OPENSSH ' ? { kind: 'openssh', bytes } : asn1(bytes)
  })
  // A value in quotes may be a PKCS#8 or PKCS#1 key without its BEGIN line.
  const bare = [...text.matchAll(/M[A-Za-z0-9+/\s]{60,}={0,2}/g)].map(([body]) => {
    return asn1(Buffer.from(base64Of(body), 'base64'))
  })
  return [...blocks, ...bare, ...jwksIn(text)]
}

/** The base64 of a block without indentation, quotes, comment signs, headers and `+` operators. */
function base64Of(body: string): string {
  const lines = body.replace(/\\+[rn]/g, '\n').split('\n')
  return lines
    .map((line) => line.replace(/^\s*(?:[+*#|>/]+\s)?\s*["']?|["'\s,;\\]+\+?[\s\\]*$/g, ''))
    .filter((line) => !/[:\s]/.test(line))
    .join('')
}

/** JWKs in JSON, JavaScript or YAML, with values that may continue on the next line (RFC 8792). */
function jwksIn(text: string): Secret[] {
  const unescaped = text.replace(/\\+"/g, '"').replace(/\\+n/g, '\n')
  const parts = [...unescaped.split(/[{}]/), ...unescaped.split(/\n\s*\n|^\s*-?\s*[\w-]+:\s*$/m)]
  return parts
    .filter((part) => /\bkty\b/.test(part))
    .map((part) => ({ kind: 'jwk', members: membersOf(part) }))
}

function membersOf(part: string): Record<string, string> {
  const member =
    /\b(kty|crv|alg|n|e|d|p|q|priv)["']?\s*(?::|=>)\s*(?:"([^"]*)"|'([^']*)'|([\w-]+))/g
  return Object.fromEntries(
    [...part.matchAll(member)].map(([, name, ...values]) => {
      return [name, (values.find((value) => value !== undefined) ?? '').replace(/[\s\\]+/g, '')]
    }),
  )
}

/** Adds the keys to a document, without those that are listed already. Returns how many are new. */
function addKeys(document: string, found: readonly string[]): number {
  const published = readPublishedKeys()
  const known = new Set(Object.values(published).flat())
  const added = [...new Set(found)].filter((hash) => !known.has(hash))
  if (added.length > 0) published[document] = [...(published[document] ?? []), ...added].toSorted()
  const sorted = Object.entries(published).toSorted(([one], [other]) => order(one, other))
  writeFileSync(source, `${JSON.stringify(Object.fromEntries(sorted), undefined, 2)}\n`)
  return added.length
}

const order = new Intl.Collator('en', { numeric: true }).compare

if (import.meta.main) {
  const [document, ...files] = process.argv.slice(2)
  if (document !== undefined) {
    const found = files.flatMap((file) => publishedKeysIn(readFileSync(file)))
    const count = addKeys(document, found)
    process.stdout.write(`${document}: ${count} of ${new Set(found).size} are new\n`)
  }
  writeFileSync(target, publishedRecords())
  writeFileSync(new URL('published-documents.txt', target), publishedDocuments())
}
