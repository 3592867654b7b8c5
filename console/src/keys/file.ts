import { isPrivateKeyAt } from '@pubring/intake/secrets'
import { readChildren, readElement, toPem } from './der.ts'

/** The text of a key file, DER as PEM. Throws an error for the user if it is neither. */
export function readKeyFile(bytes: Uint8Array): string {
  const outer = readElement(bytes, 0)
  const label = outer?.tag === 0x30 && outer.to === bytes.length ? pemLabel(bytes) : undefined
  return label === undefined ? decodeText(bytes) : toPem(bytes, label)
}

function pemLabel(bytes: Uint8Array): string | undefined {
  if (isPrivateKeyAt(bytes, 0)) return 'PRIVATE KEY'
  const outer = readElement(bytes, 0)
  const tags = (outer && readChildren(bytes, outer))?.map(({ tag }) => tag).join(' ')
  return { '48 3': 'PUBLIC KEY', '2 2': 'RSA PUBLIC KEY', '48 48 3': 'CERTIFICATE' }[tags ?? '']
}

/** UTF-8, or UTF-16 with a byte order mark, as PowerShell writes it. */
function decodeText(bytes: Uint8Array): string {
  const [first, second] = bytes
  const isUtf16 = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)
  const encoding = !isUtf16 ? 'utf-8' : first === 0xff ? 'utf-16le' : 'utf-16be'
  try {
    const text = new TextDecoder(encoding, { fatal: true }).decode(bytes)
    if (!text.includes('\0')) return text
  } catch {
    // Reported below.
  }
  throw new Error('is not text, and not a public key or certificate in DER. Nothing was sent.')
}
