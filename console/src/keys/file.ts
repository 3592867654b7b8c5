import { secretShapeAt } from '../../../src/intake/secrets/shapes.ts'
import { childrenOf, elementAt, pemOf } from './der.ts'

/**
 * The text of a key file, with DER made into PEM. Throws a sentence where it is neither: bytes that
 * nobody can read here may be a private key, and are not taken.
 */
export function textOfFile(bytes: Uint8Array): string {
  const outer = elementAt(bytes, 0)
  const label = outer?.tag === 0x30 && outer.to === bytes.length ? labelOf(bytes) : undefined
  return label === undefined ? plainText(bytes) : pemOf(bytes, label)
}

/** What PEM calls this DER, told by the tags inside it. */
function labelOf(bytes: Uint8Array): string | undefined {
  if (secretShapeAt(bytes, 0) !== undefined) return 'PRIVATE KEY'
  const outer = elementAt(bytes, 0)
  const tags = (outer && childrenOf(bytes, outer))?.map(({ tag }) => tag).join(' ')
  return { '48 3': 'PUBLIC KEY', '2 2': 'RSA PUBLIC KEY', '48 48 3': 'CERTIFICATE' }[tags ?? '']
}

/** UTF-8, or UTF-16 with a byte order mark, as PowerShell writes it. */
function plainText(bytes: Uint8Array): string {
  const [first, second] = bytes
  const wide = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)
  const encoding = !wide ? 'utf-8' : first === 0xff ? 'utf-16le' : 'utf-16be'
  try {
    const text = new TextDecoder(encoding, { fatal: true }).decode(bytes)
    if (!text.includes('\0')) return text
  } catch {
    // Said below.
  }
  throw new Error('is neither text nor a public key or certificate in DER. Nothing was sent.')
}
