import {
  createPrivateKey,
  createPublicKey,
  type JsonWebKeyInput,
  type KeyObject,
} from 'node:crypto'
import { type JWTHeaderParameters, SignJWT } from 'jose'
import type { Jwk } from '../../../client/src/index.ts'
import { parseId } from '../../core/ids.ts'
import { jwsAlgorithmOf } from '../../intake/algorithms.ts'
import { publicKeyOf } from '../../intake/kinds/public-jwk.ts'
import type { ConnectionFlags } from '../connection/connection.ts'
import { type Session, withPublicSession } from '../connection/session.ts'
import { algorithmsOf, parseAlgorithm } from '../keys/kinds.ts'
import { CommandError, usageError } from '../terminal/failures.ts'
import { readText, sourceName } from '../terminal/files.ts'
import { printResult } from '../terminal/output.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { parseDurationOption } from '../terminal/times.ts'

/** Flags of `token sample`. */
interface TokenSampleFlags extends ConnectionFlags {
  kid?: string
  algorithm?: string
  issuer?: string
  audience?: string
  subject: string
  lifetime: string
}

/** Signs a token and prints it. The private key does not leave the machine. */
export async function sampleToken(
  terminal: Terminal,
  file: string,
  flags: TokenSampleFlags,
): Promise<void> {
  const lifetimeSeconds = parseDurationOption(flags.lifetime, '--lifetime')
  const algorithm = parseAlgorithm(flags.algorithm)
  const chosen = algorithm && jwsAlgorithmOf(algorithm)
  const key = parsePrivateKey(await readText(file, terminal), sourceName(file))
  const printToken = async (kid: string, alg: string, issuer = flags.issuer) => {
    const iat = Math.floor(Date.now() / 1_000)
    const claims = { sub: flags.subject, iat, exp: iat + lifetimeSeconds, iss: issuer }
    const token = await sign(key, { alg, typ: 'JWT', kid }, { ...claims, aud: flags.audience })
    printResult(terminal, { token }, () => `${token}\n`)
  }
  if (flags.kid !== undefined) {
    await printToken(flags.kid, chosen ?? usualAlgorithm(key))
    return
  }
  await withPublicSession(terminal, flags, async (session) => {
    const { kid, alg } = await findPublished(session, key)
    await printToken(kid, chosen ?? alg, flags.issuer ?? (await findIssuer(session)))
  })
}

/** Leaves out claims that are undefined. */
async function sign(
  key: KeyObject,
  header: JWTHeaderParameters,
  claims: Record<string, unknown>,
): Promise<string> {
  try {
    return await new SignJWT(claims).setProtectedHeader(header).sign(key)
  } catch {
    const hint = 'Choose another one with --algorithm.'
    throw usageError(`This key cannot sign with ${header.alg}.`, hint)
  }
}

function parsePrivateKey(text: string, name: string): KeyObject {
  try {
    const trimmed = text.trim()
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
      'Decrypt it on the fly: openssl pkey -in private.pem | pubring token sample -',
    )
  }
  return usageError(
    `${name} is not a private key in a supported format.`,
    'Supported are PEM (PKCS#8, PKCS#1, SEC 1) and JWK. To convert DER: openssl pkey -in key.der',
  )
}

/** The entry of the project's key set that is the public half of the key. */
async function findPublished({ client, project }: Session, key: KeyObject): Promise<Jwk> {
  const publicKey = createPublicKey(key)
  const { keys } = await client.jwks.get(project)
  const found = keys.find((jwk) => isKey(jwk, publicKey))
  if (found !== undefined) return found
  const message = `The public half of this key is not in the key set of project ${project}.`
  throw new CommandError('not_found', message, {
    code: 'key_not_found',
    hints: ['Register it with pubring key add, or set the kid of the header with --kid.'],
  })
}

/** The issuer of the project, read by its id; finding the id by its name needs an API key. */
async function findIssuer({ client, project, apiKeySource, notify }: Session) {
  const known = parseId(project)
  if (known === undefined && apiKeySource === undefined) {
    notify('The token has no iss: set it with --issuer, or name the project by its id.')
    return undefined
  }
  const id = known ?? (await client.projects.get(project)).id
  return (await client.jwks.discovery(id)).issuer
}

/** False also for a key set entry that this platform cannot read. */
function isKey(jwk: Jwk, publicKey: KeyObject): boolean {
  try {
    return publicKeyOf(jwk).equals(publicKey)
  } catch {
    return false
  }
}

/** EdDSA rather than Ed25519 (RFC 9864), which fewer verifiers know. */
function usualAlgorithm(key: KeyObject): string {
  const usual = algorithmsOf(key).find((name) => name !== 'Ed25519')
  if (usual === undefined) {
    throw usageError(`Keys of type ${key.asymmetricKeyType} cannot sign tokens.`)
  }
  return jwsAlgorithmOf(usual)
}
