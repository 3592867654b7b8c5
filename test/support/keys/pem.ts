import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { rememberPrivateKey } from '../secrets.ts'
import { drawPair, type KeyPair } from './slow-pairs.ts'

export interface TestKey {
  publicKeyPem: string
  privateKey: KeyObject
}

export function exported(pair: KeyPair): TestKey {
  const publicKeyPem = pair.publicKey.export({ type: 'spki', format: 'pem' }).toString()
  return { publicKeyPem, privateKey: pair.privateKey }
}

export function rsaKey(bits = 2048): TestKey {
  return exported(
    drawPair(`RSA-${bits}`, () => generateKeyPairSync('rsa', { modulusLength: bits })),
  )
}

export function ecKey(namedCurve: 'P-256' | 'P-384' | 'P-521' | 'secp256k1' = 'P-256'): TestKey {
  return exported(generateKeyPairSync('ec', { namedCurve }))
}

export function edKey(): TestKey {
  return exported(generateKeyPairSync('ed25519'))
}

export function privatePem(key: TestKey): string {
  rememberPrivateKey(key.privateKey)
  return key.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
}
