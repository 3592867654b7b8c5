import { parse } from 'node:path'
import type { Algorithm, JwtKeyCreate, JwtKeyWithDetails } from '@pubring/client'
import { isAlgorithm } from '@pubring/intake/algorithms'
import { joinDetails } from '@pubring/server/errors'
import { publishedKidFault } from '@pubring/server/features/keys/kids'
import { present } from '@pubring/server/runtime/present'
import type { Session } from '../connection/session.ts'
import { askText } from '../terminal/confirm.ts'
import { CommandError, usageError } from '../terminal/failures.ts'
import { isInteractive, quoteForShell } from '../terminal/terminal.ts'
import { formatDuration } from '../terminal/times.ts'
import { readPublicKeyFile } from './files.ts'
import type { PublicKeyFile } from './jwk.ts'

interface KeyAddFlags {
  label?: string
  algorithm?: Algorithm
  inactive?: true
  expires?: string
  /** False: not even the kid of a JWK. */
  publishedKid?: string | false
}

/** Registers a public key; prints its kid, and on stderr when it is safe to sign with it. */
export async function addKey(session: Session, file: string, flags: KeyAddFlags): Promise<void> {
  const { client, project } = session
  const { expires: expireTime, publishedKid } = flags
  const key = await readPublicKeyFile(file, session.terminal)
  if (key.converted !== undefined) session.notify(key.converted)
  const kid = await registerKey(session, key, {
    name: flags.label ?? (await suggestLabel(session, file, key)),
    algorithm: flags.algorithm,
    ...(flags.inactive === true ? { active: false } : {}),
    ...present({ expireTime, publishedKid }),
  })
  const registered = await client.keys.get(project, kid)
  session.print({ kid, ...registered }, () => `${kid}\n`)
  session.notify(announcement(session, registered))
  if (registered.details.kty === 'AKP') {
    session.notify(
      'It is published in jwks-full.json, not in jwks.json: common verifiers reject a key set that has an ML-DSA key.',
    )
  }
}

/** Asks for the label, and suggests the comment of an SSH key or the name of the file. */
async function suggestLabel(
  { terminal }: Session,
  file: string,
  { comment }: PublicKeyFile,
): Promise<string> {
  const label = comment ?? (file === '-' ? undefined : parse(file).name)
  const entered = isInteractive(terminal) ? await askText(terminal, 'Label:', label ?? '') : ''
  if (entered !== '') return entered
  throw usageError(
    'The key needs a --label: what people call it.',
    `Add one: --label ${quoteForShell(label ?? 'LABEL')}`,
  )
}

function announcement(
  { project }: Session,
  { label, algorithm, active, details, expireTime }: JwtKeyWithDetails,
) {
  const registered = `Registered “${label}” (${algorithm}) in project ${project}`
  if (!active) return `${registered}, inactive.`
  if (expireTime !== undefined && expireTime <= details.convergedTime) {
    return `${registered}. It expires at ${expireTime}, before every verifier knows it: set a later expiry.`
  }
  const wait = Date.parse(details.convergedTime) - Date.now()
  const when = wait <= 0 ? 'now' : `from ${details.convergedTime} (in ${formatDuration(wait)})`
  const { publishedKid } = details
  const kid = publishedKid === undefined ? 'its kid' : `the kid ${publishedKid}`
  return `${registered}. Verifiers know it ${when}: sign with it then, with ${kid} in the header.`
}

/**
 * How to register a key. By default it has the kid, the algorithm and the validity of its JWK, or else
 * the usual algorithm of such keys.
 */
type Registration = Omit<JwtKeyCreate, 'publicKeyPem' | 'algorithm' | 'publishedKid'> & {
  algorithm: Algorithm | undefined
  publishedKid?: string | false
}

export async function registerKey(
  session: Session,
  key: PublicKeyFile,
  { algorithm, publishedKid = kidOfJwk(session, key), ...registration }: Registration,
): Promise<string> {
  const { active, expireTime } = key
  const chosen = algorithm ?? key.algorithm
  const body = {
    ...present({ active, expireTime }),
    ...registration,
    ...present({ publishedKid: publishedKid || undefined }),
    publicKeyPem: key.publicKeyPem,
    algorithm: chosen ?? (await requireAccepted(session, key)).algorithm,
  }
  return (await session.client.keys.create(session.project, body)).kid
}

/** The kid of the JWK that the key was read from: the tokens of its signer carry it. */
function kidOfJwk({ notify }: Session, { kid }: PublicKeyFile): string | undefined {
  if (kid === undefined) return undefined
  const fault = publishedKidFault(kid)
  if (fault === undefined) {
    notify('It keeps the kid of its JWK, which its tokens carry. --no-published-kid drops it.')
    return kid
  }
  notify(`The kid of the JWK ${fault}: it gets another.`)
  return undefined
}

/** The key as the server would store it, with its usual algorithm. Throws if it is rejected. */
export async function requireAccepted(
  { client }: Session,
  { publicKeyPem }: PublicKeyFile,
): Promise<{ publicKeyPem: string; algorithm: Algorithm }> {
  const verdict = await client.keys.check({ publicKeyPem })
  const details = verdict.faults.map(({ detail }) => detail)
  const [algorithm] = verdict.key?.algorithms ?? []
  if (details.length === 0 && isAlgorithm(algorithm)) {
    return { publicKeyPem: verdict.publicKeyPem ?? publicKeyPem, algorithm }
  }
  const message =
    joinDetails(details) || 'No algorithm is known for this key: choose one with --algorithm.'
  throw new CommandError('refused', message, {
    code: verdict.problem ?? 'unsupported_key',
    problem: { errors: verdict.faults },
  })
}
