import { DerError, expectElement, readElement, tag } from '../encoding/der.ts'

const block = /-----BEGIN [A-Z0-9 ]*CERTIFICATE-----([^-]*)-----END /
const partsBefore = ['the serial number', 'the algorithm', 'the issuer', 'the times', 'the subject']

/**
 * The SPKI of a certificate (RFC 5280 section 4.1) in DER, or of the first one in PEM. Bytes behind the
 * certificate, which a TRUSTED CERTIFICATE of OpenSSL has, are not read. Throws a `DerError`.
 */
export function publicKeyInCertificate(content: Uint8Array | string): Uint8Array {
  const der = typeof content === 'string' ? decodeBlock(content) : content
  const certificate = expectElement(der, tag.sequence, 'the certificate')
  let rest = expectElement(certificate.content, tag.sequence, 'its content').content
  if (rest[0] === 0xa0) rest = readElement(rest, 'the version').rest
  for (const part of partsBefore) rest = readElement(rest, part).rest
  const key = expectElement(rest, tag.sequence, 'the public key')
  return rest.subarray(0, rest.length - key.rest.length)
}

function decodeBlock(text: string): Uint8Array {
  const base64 = block.exec(text)?.[1]?.replace(/\s/g, '') ?? ''
  const der = Buffer.from(base64, 'base64')
  if (der.toString('base64') === base64) return der
  throw new DerError('pem_base64_invalid', 'the base64 text of the certificate is damaged.')
}
