import { commands } from '../commands.ts'
import { isComplete } from '../secrets/shapes.ts'
import { adviseConversion, contentOf } from './content.ts'

/** The command that decodes the submitted text. */
const decodeHex = `perl -ne 's/0x|[^0-9a-f]//gi; print pack("H*", $_)'`
/** The base64 of DER of at least 44 bytes, as the shortest key has them. */
const embeddedKey = 'M[A-Za-z0-9+/]{57,}={0,2}'

/** Says what a key in hexadecimal or base64 without a PEM block is; undefined if it is neither. */
export function describeBareKey(text: string): string | undefined {
  if (/^\d{300,}$/.test(text)) {
    return `This may be a bare RSA modulus, without its exponent. ${exportAgain}`
  }
  const printed = /^\s*Modulus=/i.test(text)
  const hex = text.replace(/^\s*Modulus=|0x|[\s:,]/gi, '')
  if (/^[0-9a-f]{64,}$/i.test(hex)) return describeHex(Buffer.from(hex, 'hex'), printed)
  const base64 = text.replace(/\s/g, '')
  if (!/^[A-Za-z0-9+/_-]{40,}={0,2}$/.test(base64)) return describeEmbeddedKey(text, 'key.txt')
  const bytes = Buffer.from(base64, 'base64')
  if (isPoint(bytes)) return `This is a bare EC point. ${exportAgain}`
  if (bytes.length === 32) return describeRaw(commands.decodeBase64)
  const advice = adviseConversion(bytes, commands.decodeBase64)
  return advice === undefined
    ? describeEmbeddedKey(text, 'key.txt')
    : `This is the base64 of ${advice}`
}

/** Says how to extract a public key whose base64, or that of its PEM, is in a text, such as JSON of a cloud. */
export function describeEmbeddedKey(text: string, file: string): string | undefined {
  if (/LS0tLS1CRUdJTi/.test(text)) {
    return 'It contains base64 of a whole PEM file: decode that part.'
  }
  const base64 = new RegExp(embeddedKey).exec(text)?.[0] ?? ''
  const bytes = Buffer.from(base64, 'base64')
  const content = isComplete(bytes, 0) ? contentOf(bytes) : undefined
  if (content !== 'PUBLIC KEY' && content !== 'CERTIFICATE') return undefined
  const read = `grep -oE '${embeddedKey}' ${file} | head -n 1 | base64 -d`
  return `It contains the base64 of ${adviseConversion(bytes, read)}`
}

const exportAgain = `Export the public key: ${commands.exportPublic}`

function describeHex(bytes: Uint8Array, isPrinted: boolean): string {
  if (isPrinted) {
    return `This is the output of openssl rsa -modulus: a modulus without its exponent. ${exportAgain}`
  }
  const point = pointHeaders.get(bytes.length)
  if (point !== undefined && isPoint(bytes)) {
    return `This is a bare point on ${point.curve} in hexadecimal. Convert it: (echo ${point.header}; cat key.hex) | ${decodeHex} | openssl pkey -pubin -inform DER -pubout`
  }
  if (isPoint(bytes)) return `This is a bare EC point in hexadecimal. ${exportAgain}`
  if (bytes.length === 32) return describeRaw(`${decodeHex} key.hex`)
  const advice = adviseConversion(bytes, `${decodeHex} key.hex`)
  if (advice !== undefined) return `This is hexadecimal of ${advice}`
  if (Buffer.from(bytes).toString('latin1').startsWith('-----BEGIN ')) {
    return `This is hexadecimal of a whole PEM file. Decode it: ${decodeHex} key.hex`
  }
  if (bytes.length >= 128) {
    return `This may be a bare RSA modulus in hexadecimal, without its exponent. ${exportAgain}`
  }
  return `This is hexadecimal. ${exportAgain}`
}

/** `read` is the command that writes the 32 bytes. */
function describeRaw(read: string): string {
  return `These are 32 bytes, such as a raw Ed25519 key, a key of WireGuard or a fingerprint. To convert a raw public key for Ed25519: ${commands.convertEd25519(read)}`
}

/** The SPKI up to an uncompressed point (RFC 5480), by the length of the point in bytes. */
const pointHeaders = new Map([
  [65, { curve: 'P-256', header: '3059301306072a8648ce3d020106082a8648ce3d030107034200' }],
  [97, { curve: 'P-384', header: '3076301006072a8648ce3d020106052b81040022036200' }],
  [133, { curve: 'P-521', header: '30819b301006072a8648ce3d020106052b8104002303818600' }],
])

/** An EC point, uncompressed or compressed (SEC 1 section 2.3.3). */
export function isPoint(bytes: Uint8Array): boolean {
  const uncompressed = bytes[0] === 4 && pointHeaders.has(bytes.length)
  return uncompressed || ((bytes[0] === 2 || bytes[0] === 3) && [33, 49, 67].includes(bytes.length))
}
