import { commands } from '../commands.ts'
import { adviseConversion } from './content.ts'

/** Commands that decode the submitted text. */
const decodeHex = `perl -ne 's/0x|[^0-9a-f]//gi; print pack("H*", $_)'`
const decodeBase64 = 'base64 -d < key.txt'

/** Says what a key in hexadecimal or base64 without a PEM block is; undefined if it is neither. */
export function describeBareKey(text: string): string | undefined {
  const printed = /^\s*Modulus=/i.test(text)
  const hex = text.replace(/^\s*Modulus=|0x|[\s:,]/gi, '')
  if (/^[0-9a-f]{64,}$/i.test(hex)) return describeHex(Buffer.from(hex, 'hex'), printed)
  const base64 = text.replace(/\s/g, '')
  if (!/^[A-Za-z0-9+/]{40,}={0,2}$/.test(base64) || base64.length % 4 !== 0) return undefined
  const bytes = Buffer.from(base64, 'base64')
  if (isPoint(bytes)) return `This is a bare EC point. ${exportAgain}`
  const advice = adviseConversion(bytes, decodeBase64)
  return advice && `This is the base64 of ${advice}`
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
  const advice = adviseConversion(bytes, `${decodeHex} key.hex`)
  if (advice !== undefined) return `This is hexadecimal of ${advice}`
  if (bytes.length >= 128) {
    return `This may be a bare RSA modulus in hexadecimal, without its exponent. ${exportAgain}`
  }
  return `This is hexadecimal. ${exportAgain}`
}

/** The SPKI up to an uncompressed point (RFC 5480), by the length of the point in bytes. */
const pointHeaders = new Map([
  [65, { curve: 'P-256', header: '3059301306072a8648ce3d020106082a8648ce3d030107034200' }],
  [97, { curve: 'P-384', header: '3076301006072a8648ce3d020106052b81040022036200' }],
  [133, { curve: 'P-521', header: '30819b301006072a8648ce3d020106052b8104002303818600' }],
])

/** An EC point, uncompressed or compressed (SEC 1 section 2.3.3). */
function isPoint(bytes: Uint8Array): boolean {
  const uncompressed = bytes[0] === 4 && pointHeaders.has(bytes.length)
  return uncompressed || ((bytes[0] === 2 || bytes[0] === 3) && [33, 49, 67].includes(bytes.length))
}
