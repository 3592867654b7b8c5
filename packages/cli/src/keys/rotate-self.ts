import { createPublicKey, generateKeyPairSync, type KeyObject, randomUUID } from 'node:crypto'
import { existsSync, writeFileSync } from 'node:fs'
import { join, parse } from 'node:path'
import type { JwtKeyWithDetails } from '@pubring/client'
import { rotationType } from '@pubring/server/features/access-rules/subject-tokens'
import { parseId } from '@pubring/server/kernel/values/ids'
import { present } from '@pubring/server/runtime/present'
import { calculateJwkThumbprint, type JWK } from 'jose'
import { projectCommandLine } from '../connection/command-lines.ts'
import { type ConnectionFlags, resolveConnection } from '../connection/connection.ts'
import { type Session, withConnection } from '../connection/session.ts'
import { CommandError, usageError } from '../terminal/failures.ts'
import { quoteForShell, type Terminal } from '../terminal/terminal.ts'
import { findPublished, readPrivateKey, sign } from './private-keys.ts'
import { isInterruption, waitUntil } from './rotate.ts'

/** Seconds that the tokens of a rotation are valid; at most 5 minutes are accepted. */
const tokenSeconds = 120

/** A key pair on this machine. */
interface Pair {
  file: string
  privateKey: KeyObject
  publicKey: KeyObject
  /** RFC 7638. */
  thumbprint: string
}

/**
 * Lets the current key vouch for a new one, and registers that. The private keys stay on this machine,
 * and no API key is used. Run again, it resumes with the new key pair that it finds.
 */
export async function rotateSelf(
  terminal: Terminal,
  publicKeyFile: string | undefined,
  flags: ConnectionFlags & { self: string; label?: string },
): Promise<void> {
  const { self: file } = flags
  if (publicKeyFile !== undefined || file === '-') {
    throw usageError('--self takes the file of the current private key, and no other file.')
  }
  const { apiKey: _unused, ...connection } = resolveConnection(terminal.env, flags)
  if (parseId(connection.project) === undefined) {
    throw usageError('With --self, name the project by its id: its issuer holds that.')
  }
  const old = await pairOf(file, await readPrivateKey(file, terminal))
  const source = `a token signed with ${file}`
  const idToken = { source, claims: {}, read: async () => '' }
  const own = { ...connection, apiKeySource: source, idToken }
  await withConnection(terminal, own, async (session) => {
    const { kid, alg } = await findPublished(session, old.privateKey)
    const issuer = (await session.client.jwks.discovery(session.project)).issuer
    const next = await prepareNext(session, old)
    const vouch = (pair: Pair, header: { kid?: string } = {}) => {
      const exp = Math.floor(session.now() / 1_000) + tokenSeconds
      const aud = issuer.replace(/\/v1\/projects\/[^/]*$/, '')
      const claims = { iss: issuer, aud, exp, jti: randomUUID() }
      const cnf = { jkt: next.thumbprint }
      return sign(pair.privateKey, { alg, typ: rotationType, ...header }, { ...claims, cnf })
    }
    idToken.claims = { iss: issuer, cnf: { jkt: next.thumbprint } }
    idToken.read = () => vouch(old, { kid })
    const keys = await registerNext(session, { kid, next, label: flags.label }, () => vouch(next))
    await finish(session, { ...keys, file, next })
  })
}

async function pairOf(file: string, privateKey: KeyObject): Promise<Pair> {
  const publicKey = createPublicKey(privateKey)
  const jwk = publicKey.export({ format: 'jwk' })
  return { file, privateKey, publicKey, thumbprint: await calculateJwkThumbprint(jwk as JWK) }
}

/** The new key pair, in a file beside the old one that only its owner can read. */
async function prepareNext(
  { terminal, notify }: Session,
  { file: oldFile, privateKey: old }: Pair,
): Promise<Pair> {
  const { dir, name, ext } = parse(oldFile)
  const file = join(dir, `${name}.next${ext}`)
  if (existsSync(file)) {
    notify(`Resuming with the key pair in ${file}.`)
    return pairOf(file, await readPrivateKey(file, terminal))
  }
  const privateKey = generateLike(old)
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' })
  writeFileSync(file, pem, { flag: 'wx', mode: 0o600, flush: true })
  notify(`Made a new key pair: ${file}`)
  return pairOf(file, privateKey)
}

/** Generates a key with the parameters of the other, except that RSA gets its usual exponent. */
function generateLike(other: KeyObject): KeyObject {
  const { publicExponent: _usual, ...parameters } = other.asymmetricKeyDetails ?? {}
  // The options of RSA are named like its parameters, and those of the other types too.
  const options = { modulusLength: 0, ...parameters }
  return generateKeyPairSync(other.asymmetricKeyType as 'rsa', options).privateKey
}

interface Keys {
  old: JwtKeyWithDetails
  registered: JwtKeyWithDetails
}

async function registerNext(
  { client, project, now, notify }: Session,
  { kid, next, label }: { kid: string; next: Pair; label: string | undefined },
  prove: () => Promise<string>,
): Promise<Keys> {
  const old = await client.keys.get(project, kid)
  const publicKeyPem = next.publicKey.export({ type: 'spki', format: 'pem' }).toString()
  const keys = await client.keys.list(project)
  const found = keys.find((key) => key.publicKeyPem === publicKeyPem)
  const newKid = found?.id ?? (await create())
  const registered = await client.keys.get(project, newKid)
  notify(`1. ${found ? 'Resuming with' : 'Registered'} “${registered.label}”, kid ${newKid}.`)
  return { old, registered }

  async function create() {
    const date = new Date(now()).toISOString().slice(0, 10)
    const usualLabel = `${old.label.replace(/ \(\d{4}-\d\d-\d\d\)$/, '')} (${date})`
    const body = { name: label ?? usualLabel, algorithm: old.algorithm, publicKeyPem }
    return (await client.keys.create(project, { ...body, proof: await prove() })).kid
  }
}

async function finish(
  session: Session,
  { old, registered, file, next }: Keys & { file: string; next: Pair },
): Promise<void> {
  const { details, id: kid, algorithm } = registered
  const signal = session.terminal.interruptSignal()
  try {
    const known = Date.parse(details.convergedTime)
    await waitUntil(session, known, '2. Until every verifier knows it', signal)
  } catch (error) {
    if (!isInterruption(error, signal)) throw error
    const hints = ['Run the same command again to resume.']
    throw new CommandError('interrupted', 'Stopped. The new key is registered.', { hints })
  }
  const document = { outcome: 'switch_signer', kid, algorithm, old: old.id, file: next.file }
  session.print(document, () => `${kid}\n`)
  const end = projectCommandLine(
    { project: session.project, flags: present({ url: session.flags?.url }) },
    'key rotate',
    ...['--new', kid, '--old', old.id],
  )
  const move = `mv ${quoteForShell(next.file)} ${quoteForShell(file)}`
  session.notify(
    [
      '2. Every verifier that honors the cache headers knows the new key.',
      `3. Now switch the signer to ${next.file}: ${details.jwsAlgorithm}, kid ${details.publishedKid ?? kid}.`,
      `   Once every signer uses it: ${move}`,
      `4. “${old.label}” stays active until a caller with the role writer ends it: ${end}`,
    ].join('\n'),
  )
}
