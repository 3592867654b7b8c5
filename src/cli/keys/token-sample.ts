import {
  createPrivateKey,
  createPublicKey,
  type JsonWebKeyInput,
  type KeyObject,
} from 'node:crypto'
import { SignJWT } from 'jose'
import type { Jwk } from '../../../client/src/index.ts'
import type { ConnectionFlags } from '../connection/connection.ts'
import { withSession } from '../connection/session.ts'
import { CommandError, usageError } from '../terminal/failures.ts'
import { readBytes, sourceName } from '../terminal/files.ts'
import { printResult } from '../terminal/output.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { parseDurationOption } from '../terminal/times.ts'
import { readAlgorithm } from './files.ts'

export interface TokenSampleFlags extends ConnectionFlags {
  kid?: string
  algorithm?: string
  issuer?: string
  audience?: string
  subject: string
  lifetime: string
}

/** Signs a token on this machine and prints it; the private key goes nowhere. */
export async function sampleToken(
  terminal: Terminal,
  file: string,
  flags: TokenSampleFlags,
): Promise<void> {
  const lifetime = parseDurationOption(flags.lifetime, '--lifetime')
  const wanted = readAlgorithm(flags.algorithm)
  const text = (await readBytes(file, terminal)).toString('utf8')
  const key = readPrivateKey(text, sourceName(file))
  const published = flags.kid === undefined ? await publishedAs(terminal, key, flags) : undefined
  const kid = flags.kid ?? published?.kid ?? ''
  const alg = (wanted === 'RSA' ? 'RS256' : wanted) ?? published?.alg ?? usualAlgorithm(key)
  const token = await sign(key, { alg, kid, lifetime }, flags)
  printResult(terminal, flags.json, { token }, () => `${token}\n`)
}

async function sign(
  key: KeyObject,
  { alg, kid, lifetime }: { alg: string; kid: string; lifetime: number },
  { issuer, audience, subject }: TokenSampleFlags,
): Promise<string> {
  const now = Math.floor(Date.now() / 1_000)
  const token = new SignJWT()
    .setProtectedHeader({ alg, typ: 'JWT', kid })
    .setSubject(subject)
    .setIssuedAt(now)
    .setExpirationTime(now + lifetime)
  if (issuer !== undefined) token.setIssuer(issuer)
  if (audience !== undefined) token.setAudience(audience)
  try {
    return await token.sign(key)
  } catch {
    throw usageError(`This key cannot sign with ${alg}.`, 'Say another one with --algorithm.')
  }
}

function readPrivateKey(text: string, name: string): KeyObject {
  try {
    const trimmed = text.replace(/^\uFEFF/, '').trim()
    if (!trimmed.startsWith('{')) return createPrivateKey(trimmed)
    const jwk: JsonWebKeyInput['key'] = JSON.parse(trimmed)
    return createPrivateKey({ key: jwk, format: 'jwk' })
  } catch {
    throw unreadable(text, name)
  }
}

function unreadable(text: string, name: string): CommandError {
  if (/ENCRYPTED/.test(text)) {
    return usageError(
      `${name} is encrypted.`,
      'Decrypt it on the way: openssl pkey -in private.pem | pubring token sample -',
    )
  }
  return usageError(
    `${name} is not a private key that can be read here.`,
    'PEM (PKCS#8, PKCS#1, SEC 1) and JWK can: openssl pkey -in key writes PEM.',
  )
}

/** The entry of the project's key set that has the public half of the key. */
async function publishedAs(
  terminal: Terminal,
  key: KeyObject,
  flags: TokenSampleFlags,
): Promise<Jwk> {
  let found: Jwk | undefined
  const lookUp = async ({ client, project }: Parameters<Parameters<typeof withSession>[2]>[0]) => {
    const { keys } = await client.jwks.get(project)
    found = keys.find((jwk) => isHalfOf(jwk, key))
    if (found !== undefined) return
    throw new CommandError(
      'not_found',
      `The public half of this key is not in the key set of project ${project}.`,
      {
        code: 'key_not_found',
        hints: ['pubring key add registers it; or say with --kid what the header is to carry.'],
      },
    )
  }
  await withSession(terminal, flags, lookUp, { access: 'public' })
  if (found === undefined) throw new Error('neither found nor refused')
  return found
}

function isHalfOf(jwk: Jwk, key: KeyObject): boolean {
  try {
    const published: JsonWebKeyInput['key'] = { ...jwk }
    return createPublicKey({ key: published, format: 'jwk' }).equals(createPublicKey(key))
  } catch {
    return false
  }
}

const usualByKind: Readonly<Record<string, string>> = {
  rsa: 'RS256',
  'rsa-pss': 'PS256',
  prime256v1: 'ES256',
  secp384r1: 'ES384',
  secp521r1: 'ES512',
  ed25519: 'EdDSA',
  'ml-dsa-44': 'ML-DSA-44',
  'ml-dsa-65': 'ML-DSA-65',
  'ml-dsa-87': 'ML-DSA-87',
}

function usualAlgorithm({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): string {
  const kind = asymmetricKeyDetails?.namedCurve ?? asymmetricKeyType ?? ''
  const usual = usualByKind[kind]
  if (usual === undefined) throw usageError(`Keys of the kind ${kind} sign no tokens.`)
  return usual
}
