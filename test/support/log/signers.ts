import { generateKeyPairSync, sign } from 'node:crypto'
import {
  createVerifierKey,
  formatNote,
  signatureTypes,
  signNote,
  type VerifierKey,
} from '../../../packages/client/src/log/note.ts'

/** A log's or witness's key pair. */
export interface TestSigner {
  key: VerifierKey
  /** A signature line below the text. */
  sign(text: string, time?: number): Promise<string>
}

export async function createSigner(
  name: string,
  kind: keyof typeof signatureTypes = 'ed25519',
): Promise<TestSigner> {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const spki = publicKey.export({ format: 'der', type: 'spki' })
  const key = await createVerifierKey({
    name,
    type: signatureTypes[kind],
    publicKey: new Uint8Array(spki.subarray(-32)),
  })
  return {
    key,
    sign: (text, time) => signNote(text, key, (message) => sign(null, message, privateKey), time),
  }
}

/** The text with the signatures of all signers. */
export async function signedNote(text: string, ...signers: TestSigner[]): Promise<string> {
  return formatNote(text, await Promise.all(signers.map((one) => one.sign(text, 1_700_000_000))))
}
