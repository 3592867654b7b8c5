import { generateKeyPairSync } from 'node:crypto'
import { drawPair, type KeyPair } from './slow-pairs.ts'

const generators: Record<string, () => KeyPair> = {
  'RSA-2048': () => generateKeyPairSync('rsa', { modulusLength: 2048 }),
  'RSA-PSS': () => generateKeyPairSync('rsa-pss', { modulusLength: 2048 }),
  'P-256': () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  'P-384': () => generateKeyPairSync('ec', { namedCurve: 'P-384' }),
  'P-521': () => generateKeyPairSync('ec', { namedCurve: 'P-521' }),
  Ed25519: () => generateKeyPairSync('ed25519'),
  'ML-DSA-44': () => generateKeyPairSync('ml-dsa-44'),
  'ML-DSA-65': () => generateKeyPairSync('ml-dsa-65'),
  'ML-DSA-87': () => generateKeyPairSync('ml-dsa-87'),
}
export const kindNames = Object.keys(generators)

/** Throws for an unknown kind. */
export function generatorOf(kind: string): () => KeyPair {
  const generate = generators[kind]
  if (generate === undefined) throw new Error(kind)
  return generate
}

/** A pair that no other call in this test file returns. */
export function freshPair(kind: string): KeyPair {
  const generate = generatorOf(kind)
  return kind.startsWith('RSA') ? drawPair(kind, generate) : generate()
}

const pairs = new Map<string, KeyPair>()

/** One pair of each kind, for the whole run. */
export function pairOf(name: string): KeyPair {
  const pair = pairs.get(name) ?? generatorOf(name)()
  pairs.set(name, pair)
  return pair
}

export function publicPemOf(name: string): string {
  return pairOf(name).publicKey.export({ type: 'spki', format: 'pem' }).toString()
}

export function publicDerOf(name: string): Buffer {
  return pairOf(name).publicKey.export({ type: 'spki', format: 'der' })
}

/** Every form of a private key that the platform writes. */
export function privateKeyForms(
  name: string,
  { privateKey }: KeyPair = pairOf(name),
): { form: string; der: Buffer; label: string }[] {
  const der = (type: 'pkcs8' | 'pkcs1' | 'sec1') => privateKey.export({ type, format: 'der' })
  const forms = [{ form: 'pkcs8', der: der('pkcs8'), label: 'PRIVATE KEY' }]
  if (name === 'RSA-2048')
    forms.push({ form: 'pkcs1', der: der('pkcs1'), label: 'RSA PRIVATE KEY' })
  if (name.startsWith('P-')) forms.push({ form: 'sec1', der: der('sec1'), label: 'EC PRIVATE KEY' })
  return forms
}

/** No 24 characters of the secret stand in what the verdict says. */
export function expectNoEcho(response: unknown, ...secrets: string[]): void {
  const said = JSON.stringify(response)
  for (const secret of secrets) {
    for (let at = 0; at + 24 <= secret.length; at += 1) {
      const part = secret.slice(at, at + 24)
      if (said.includes(part)) throw new Error(`the verdict quotes the input: ${said}`)
    }
  }
}
