import { commands } from '../commands.ts'
import { tag } from '../encoding/der.ts'
import { headerAt } from '../secrets/shapes.ts'

/** Names DER by the label that its PEM block should have. */
export type Content =
  | 'PUBLIC KEY'
  | 'RSA PUBLIC KEY'
  | 'CERTIFICATE'
  | 'CERTIFICATE REQUEST'
  | 'PKCS7'
  | 'PKCS12'

/** The kind of the content, and the end of the command that converts it from DER. */
const descriptions: Readonly<Record<Content, readonly [name: string, convert: string]>> = {
  'PUBLIC KEY': ['a public key (SPKI)', 'openssl pkey -pubin -pubout -inform DER'],
  'RSA PUBLIC KEY': ['a PKCS#1 RSA public key', 'openssl rsa -RSAPublicKey_in -pubout -inform DER'],
  CERTIFICATE: ['a certificate', 'openssl x509 -pubkey -noout -inform DER'],
  'CERTIFICATE REQUEST': ['a certificate request', 'openssl req -pubkey -noout -inform DER'],
  PKCS7: ['a PKCS#7 bundle of certificates', 'openssl pkcs7 -print_certs -inform DER'],
  PKCS12: ['a PKCS#12 store of certificates', 'openssl pkcs12 -nokeys'],
}

/** Names a content, and says how to convert its DER, which the command `read` writes; by default, of `key.pem`. */
export function adviseContent(content: Content, read = commands.decodePem('key.pem')): string {
  const [name] = descriptions[content]
  const convert = conversionOf(content, read)
  if (!content.startsWith('PKCS')) return `${name}. Convert it: ${convert}`
  return `${name}. To send the public key of its first certificate: ${convert} | openssl x509 -pubkey -noout`
}

/** The command that converts DER, which the command `read` writes. */
export function conversionOf(content: Content, read: string): string {
  return `${read} | ${descriptions[content][1]}`
}

/** Says what bytes without a PEM block contain; `read` is the command that writes them to its output. */
export function adviseConversion(bytes: Uint8Array, read: string): string | undefined {
  const content = contentOf(bytes)
  return content && adviseContent(content, read)
}

/** Says what DER is that has a public key inside another structure; undefined for a key or a certificate. */
export function indirectContent(der: Uint8Array, read: string): string | undefined {
  const content = contentOf(der)
  const isIndirect = content === 'CERTIFICATE REQUEST' || content?.startsWith('PKCS')
  return isIndirect ? `This is ${adviseConversion(der, read)}` : undefined
}

/** The content of the first block of a text. */
export function contentOfBlock(text: string): Content | undefined {
  const block = /-----BEGIN [A-Z0-9 ]+-----(.*?)-----/s.exec(text.replace(/\\[rn]/g, ''))
  return contentOf(Buffer.from(block?.[1] ?? '', 'base64'))
}

/** Recognizes the content by its first tags. The parser checks later whether it is valid. */
export function contentOf(der: Uint8Array): Content | undefined {
  const outer = headerAt(der, 0)
  if (outer?.tag !== tag.sequence) return undefined
  const inner = headerAt(der, outer.start)
  if (inner?.tag === tag.integer) {
    return headerAt(der, inner.end)?.tag === tag.sequence ? 'PKCS12' : 'RSA PUBLIC KEY'
  }
  if (inner?.tag === tag.oid) return 'PKCS7'
  if (inner?.tag !== tag.sequence) return undefined
  const first = headerAt(der, inner.start)
  if (first?.tag === tag.oid) return 'PUBLIC KEY'
  if (first?.tag === 0xa0) return 'CERTIFICATE'
  if (first?.tag !== tag.integer) return undefined
  // After the integer, a certificate of version 1 has an algorithm, and a request a name.
  const second = headerAt(der, first.end)
  return second && der[second.start] === tag.oid ? 'CERTIFICATE' : 'CERTIFICATE REQUEST'
}
