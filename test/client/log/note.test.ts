import { createPrivateKey, generateKeyPairSync, sign } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import {
  formatCheckpoint,
  formatProof,
  parseProof,
} from '../../../packages/client/src/log/checkpoint.ts'
import {
  formatVerifierKey,
  parseCheckpoint,
  parseVerifierKey,
} from '../../../packages/client/src/log/index.ts'
import {
  createVerifierKey,
  formatNote,
  parseNote,
  signatureTypes,
  signNote,
  verifyNote,
} from '../../../packages/client/src/log/note.ts'
import { fixture } from '../../support/keys/intake.ts'

type Vector = { seed: string; vkey: string; witness?: string; text: string; note: string }

/** Made by Go's note package and torchwood: test/support/go/notes. */
const vectors: {
  notes: Vector[]
  rejectedNotes: Record<string, string>
  rejectedKeys: Record<string, string>
} = JSON.parse(fixture('log/notes.json'))

const [first] = vectors.notes as [Vector, ...Vector[]]

/** An Ed25519 private key from its 32 bytes (RFC 8410). */
function signerOf(seed: string) {
  const pkcs8 = Buffer.concat([
    Buffer.from('302e020100300506032b657004220420', 'hex'),
    Buffer.from(seed, 'base64'),
  ])
  const key = createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' })
  return (message: Uint8Array) => new Uint8Array(sign(null, message, key))
}

async function keysOf({ vkey, witness }: Vector) {
  const texts = witness === undefined ? [vkey] : [vkey, witness]
  return Promise.all(texts.map(parseVerifierKey))
}

test('the example of C2SP signed-note is valid', async () => {
  const key = await parseVerifierKey(
    'example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k',
  )
  const note = parseNote(
    'This is an example message.\n\n— example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=\n',
  )
  expect(note.text).toBe('This is an example message.\n')
  expect(await verifyNote(note, [key])).toMatchObject([{ key: { id: '530d903a' } }])
})

describe.each(vectors.notes)("Go's note of %#", (vector) => {
  test('is valid, with its cosignature', async () => {
    const keys = await keysOf(vector)
    const note = parseNote(vector.note)
    expect(note.text).toBe(vector.text)
    const verified = await verifyNote(note, keys)
    expect(verified.map(({ key }) => formatVerifierKey(key))).toEqual(keys.map(formatVerifierKey))
    for (const { key, time } of verified) {
      expect(typeof time).toBe(key.type === signatureTypes.cosignature ? 'number' : 'undefined')
    }
  })

  test('has the signature that we make with the same key', async () => {
    const [key] = await keysOf(vector)
    if (key === undefined) throw new Error('unreachable')
    expect(await signNote(vector.text, key, signerOf(vector.seed))).toBe(
      parseNote(vector.note).signatures[0]?.line,
    )
  })

  test('is rejected once a byte of its text or of a signature differs', async () => {
    const keys = await keysOf(vector)
    const [line = ''] = parseNote(vector.note).signatures.map((one) => one.line)
    const altered = line.replace(/[A-Za-z]{2}=$/, (end) => (end === 'AA=' ? 'BA=' : 'AA='))
    const forged = parseNote(vector.note.replace(line, altered))
    const rewritten = parseNote(`x${vector.note}`)
    for (const note of [forged, rewritten]) {
      await expect(verifyNote(note, keys)).rejects.toMatchObject({ code: 'untrusted' })
    }
  })
})

test.each(Object.entries(vectors.rejectedNotes))('a note %s is rejected', async (_name, text) => {
  const keys = await keysOf({ ...first, witness: first.vkey })
  const verified = Promise.resolve().then(() => verifyNote(parseNote(text), keys))
  await expect(verified).rejects.toMatchObject({
    code: expect.stringMatching(/malformed|untrusted/),
  })
})

test.each(Object.entries(vectors.rejectedKeys))('a verifier key %s is rejected', async (_, key) => {
  await expect(parseVerifierKey(key)).rejects.toMatchObject({ code: 'malformed' })
})

test('signatures of other keys are ignored, even of the same name', async () => {
  const [key, witness] = await keysOf(first)
  if (key === undefined || witness === undefined) throw new Error('unreachable')
  const other = await createVerifierKey({ ...key, publicKey: witness.publicKey })
  const noise = await signNote(first.text, other, () => new Uint8Array(64))
  const { signatures } = parseNote(first.note)
  const note = parseNote(formatNote(first.text, [noise, ...signatures.map(({ line }) => line)]))
  expect(await verifyNote(note, [key])).toHaveLength(1)
  await expect(verifyNote(note, [other])).rejects.toMatchObject({ code: 'untrusted' })
  const message = `The note is not signed by ${key.name}, or with another key.`
  await expect(verifyNote(parseNote(first.note), [other, other])).rejects.toThrow(message)
})

test('a cosignature covers its time', async () => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const bytes = new Uint8Array(publicKey.export({ format: 'der', type: 'spki' }).subarray(-32))
  const type = signatureTypes.cosignature
  const witness = await createVerifierKey({ name: 'witness.example', type, publicKey: bytes })
  const signer = (message: Uint8Array) => sign(null, message, privateKey)
  const line = await signNote(first.text, witness, signer, 1_700_000_000)
  const note = parseNote(formatNote(first.text, [line]))
  expect(await verifyNote(note, [witness])).toMatchObject([{ time: 1_700_000_000 }])
  note.signatures[0]?.signature.set([1], 0)
  await expect(verifyNote(note, [witness])).rejects.toMatchObject({ code: 'untrusted' })
})

test('checkpoints have the text of C2SP tlog-checkpoint', () => {
  const checkpoint = parseCheckpoint(first.text)
  expect(checkpoint).toMatchObject({ origin: 'example.com/log', size: 5 })
  expect(formatCheckpoint(checkpoint)).toBe(first.text)
  expect(parseCheckpoint(`${first.text}an extension\n`)).toEqual(checkpoint)
})

test.each([
  ['without an origin', (text: string) => text.replace('example.com/log', '')],
  ['with leading zeros', (text: string) => text.replace('\n5\n', '\n05\n')],
  ['with an enormous size', (text: string) => text.replace('\n5\n', '\n99999999999999999\n')],
  ['with a short hash', (text: string) => text.replace(/\n[^\n]+\n$/, '\nAAAA\n')],
  ['without a final line feed', (text: string) => text.trimEnd()],
  ['with an empty line', (text: string) => `${text}\nmore\n`],
])('a checkpoint %s is rejected', (_name, alter) => {
  expect(() => parseCheckpoint(alter(first.text))).toThrow(
    expect.objectContaining({ code: 'malformed' }),
  )
})

test('proofs have the format of C2SP tlog-proof', () => {
  const hashes = [1, 2].map((byte) => new Uint8Array(32).fill(byte))
  const proof = { index: 3, hashes, checkpoint: first.note }
  const text = formatProof(proof)
  expect(text.split('\n').slice(0, 5)).toEqual([
    'c2sp.org/tlog-proof@v1',
    'index 3',
    'AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=',
    'AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=',
    '',
  ])
  expect(parseProof(text)).toEqual(proof)
  const extra = new Uint8Array(3)
  expect(formatProof({ ...proof, extra })).toBe(text.replace('index', 'extra AAAA\nindex'))
  expect(parseProof(formatProof({ ...proof, extra }))).toEqual({ ...proof, extra })
  expect(parseProof(formatProof({ ...proof, hashes: [] }))).toEqual({ ...proof, hashes: [] })
})

test.each([
  ['of another version', (text: string) => text.replace('@v1', '@v2')],
  ['without an index', (text: string) => text.replace('index 3\n', '')],
  ['with more that is no base64', (text: string) => text.replace('index', 'extra A\nindex')],
  ['with leading zeros', (text: string) => text.replace('index 3', 'index 03')],
  ['with a short hash', (text: string) => text.replace('AQEB', '')],
  ['without a checkpoint', (text: string) => text.slice(0, text.indexOf('\n\n'))],
])('a proof %s is rejected', (_name, alter) => {
  const proof = { index: 3, hashes: [new Uint8Array(32).fill(1)], checkpoint: first.note }
  expect(() => parseProof(alter(formatProof(proof)))).toThrow(
    expect.objectContaining({ code: 'malformed' }),
  )
})

test('a name with a space is rejected', async () => {
  const key = { name: 'a b', type: signatureTypes.ed25519, publicKey: new Uint8Array(32) }
  await expect(createVerifierKey(key)).rejects.toMatchObject({ code: 'malformed' })
})
