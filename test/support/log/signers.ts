import { generateKeyPairSync, sign } from 'node:crypto'
import {
  createVerifierKey,
  datingKey,
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
  /** The line by which a log dates the text. */
  date(text: string, time: number): Promise<string>
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
  const signWith = (one: VerifierKey, text: string, time?: number) =>
    signNote(text, one, (message) => sign(null, message, privateKey), time)
  return {
    key,
    sign: (text, time) => signWith(key, text, time),
    date: async (text, time) => signWith(await datingKey(key), text, time),
  }
}

/** When witnesses cosign, in seconds, unless a test says otherwise. */
const cosignTime = 1_700_000_000

/** The text with the signatures of all signers. */
export async function signedNote(text: string, ...signers: TestSigner[]): Promise<string> {
  return formatNote(text, await Promise.all(signers.map((one) => one.sign(text, cosignTime))))
}

/** The text with the signature and the date of the log, and the cosignatures of witnesses. */
export async function datedNote(
  text: string,
  log: TestSigner,
  { date, witnesses }: { date: number; witnesses: readonly TestSigner[] },
): Promise<string> {
  const lines = [
    log.sign(text),
    log.date(text, date),
    ...witnesses.map((one) => one.sign(text, date)),
  ]
  return formatNote(text, await Promise.all(lines))
}
