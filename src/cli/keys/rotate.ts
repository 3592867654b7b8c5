import type { JwtKey, JwtKeyWithDetails } from '../../../client/src/index.ts'
import { parseId } from '../../core/ids.ts'
import type { ConnectionFlags } from '../connection/connection.ts'
import { type Session, withSession } from '../connection/session.ts'
import { ask } from '../terminal/confirm.ts'
import { CommandError, usageError } from '../terminal/failures.ts'
import { quoteForShell } from '../terminal/output.ts'
import { isInteractive, type Terminal } from '../terminal/terminal.ts'
import { parseDurationOption } from '../terminal/times.ts'
import { examined, register } from './add.ts'
import type { PublicKeyFile } from './conversion.ts'
import { readAlgorithm, readPublicKeyFile } from './files.ts'
import { keyNamed } from './show.ts'
import { waitUntil } from './waiting.ts'

/** Flags of `key rotate`. */
export interface KeyRotateFlags extends ConnectionFlags {
  name?: string
  old?: string
  algorithm?: string
  switched?: true
  tokenLifetime: string
  keep?: true
  yes?: true
}

/** One rotation under way; all of its state is on the server. */
interface Rotation {
  session: Session
  signal: AbortSignal
  flags: KeyRotateFlags
  /** Milliseconds that tokens live. */
  lifetime: number
  next: JwtKeyWithDetails
  old: JwtKey
}

/** How far a rotation has come when the command ends. */
type Outcome = 'switch_signer' | 'deleted' | 'kept'

/**
 * Replaces a key by a new one, so that no honest token is refused. Run again with the same file it
 * goes on where it was.
 */
export async function rotateKey(
  terminal: Terminal,
  file: string,
  flags: KeyRotateFlags,
): Promise<void> {
  const lifetime = parseDurationOption(flags.tokenLifetime, '--token-lifetime') * 1_000
  readAlgorithm(flags.algorithm)
  const key = await readPublicKeyFile(file, terminal)
  await withSession(terminal, flags, async (session) => {
    if (key.converted !== undefined) session.notify(key.converted)
    const place = await look(session, key)
    if (isDone(session, place, flags)) return
    const signal = terminal.interruptSignal()
    const rotation = {
      ...(await begin(session, key, place, flags)),
      session,
      signal,
      flags,
      lifetime,
    }
    try {
      const outcome = await goOn(rotation)
      report(rotation, outcome, file)
    } catch (error) {
      throw isInterruption(error, signal) ? left(rotation, file) : error
    }
  })
}

/** The keys of the project, and the new one where it is among them. */
interface Place {
  keys: JwtKey[]
  known: JwtKey | undefined
}

async function look(session: Session, key: PublicKeyFile): Promise<Place> {
  const { publicKeyPem } = await examined(session, key)
  const keys = await session.client.keys.list(session.project)
  return { keys, known: keys.find((one) => one.publicKeyPem === publicKeyPem) }
}

/** Whether the key that was to be replaced, by its kid, is gone, and the new one there. */
function isDone(session: Session, { keys, known }: Place, { old }: KeyRotateFlags): boolean {
  if (known === undefined || old === undefined || parseId(old) === undefined) return false
  if (keys.some(({ id }) => id === old.toLowerCase())) return false
  const document = { outcome: 'deleted', kid: known.id, algorithm: known.algorithm, old }
  session.print(document, () => `${known.id}\n`)
  session.notify(`“${known.label}” is registered and the old key is gone: the rotation is done.`)
  return true
}

/** Step 1: both keys are registered. */
async function begin(
  session: Session,
  key: PublicKeyFile,
  { keys, known }: Place,
  flags: KeyRotateFlags,
): Promise<Pick<Rotation, 'next' | 'old'>> {
  const { client, project } = session
  const old = oldKey(session, keys, known, flags.old)
  const kid = known?.id ?? (await register(session, key, registration(flags)))
  const next = await client.keys.get(project, kid)
  if (!next.active) {
    throw new CommandError('conflict', `The new key “${next.label}” is switched off.`, {
      code: 'key_inactive',
      hints: [`pubring key activate ${kid} --project ${project}`],
    })
  }
  session.notify(`1. ${known ? 'Going on with' : 'Registered'} “${next.label}”, kid ${kid}.`)
  if (next.createTime < old.createTime) {
    session.notify(
      `   It is older than “${old.label}”, which it replaces: Ctrl-C if that is not meant.`,
    )
  }
  return { next, old }
}

function registration({ name, algorithm }: KeyRotateFlags) {
  if (name === undefined) throw usageError('The new key is not registered yet: give it a --name.')
  return { name, algorithm: readAlgorithm(algorithm) }
}

function oldKey(
  session: Session,
  keys: readonly JwtKey[],
  next: JwtKey | undefined,
  given: string | undefined,
): JwtKey {
  const others = keys.filter(({ id }) => id !== next?.id)
  if (given !== undefined) return keyNamed(others, given, session)
  const [first, ...more] = others.filter(({ active }) => active)
  if (first !== undefined && more.length === 0) return first
  if (first === undefined) {
    throw usageError(
      'No other key is active.',
      'Name the one to replace with --old, or register a first one with pubring key add.',
    )
  }
  const hints = [first, ...more].map(({ id, label }) => `--old ${id}  (${label})`)
  throw usageError('Several keys are active: name the one to replace.', ...hints)
}

async function goOn(rotation: Rotation): Promise<Outcome> {
  const { session, next, signal, flags } = rotation
  const { client, project, terminal } = session
  const known = Date.parse(next.details.convergedTime)
  await waitUntil(session, known, '2. Until every verifier knows it', signal)
  session.notify('2. Every verifier that honours the cache headers knows the new key.')
  if (!(await isSwitched(rotation))) return 'switch_signer'
  await switchOff(rotation)
  const { details } = await client.keys.get(project, rotation.old.id)
  const forgotten = Date.parse(details.convergedTime)
  await waitUntil(session, forgotten, '5. Until every verifier has forgotten it', signal)
  session.notify('5. No verifier that honours the cache headers trusts the old key.')
  const asked = isInteractive(terminal) && flags.yes !== true && flags.keep !== true
  const goes = asked ? await ask(terminal, '6. Delete the old key?') : flags.keep !== true
  if (!goes) return 'kept'
  await client.keys.delete(project, rotation.old.id)
  return 'deleted'
}

/** Step 3: the signer signs with the new key, or the old one goes in that time anyway. */
async function isSwitched({ session, next, old, flags, lifetime }: Rotation): Promise<boolean> {
  if (!old.active || isOver(old, session.now() + lifetime)) return true
  if (flags.switched === true) return true
  session.notify(
    `3. Now let the signer sign with the new key: ${next.details.jwsAlgorithm}, kid ${next.id}.`,
  )
  if (!isInteractive(session.terminal)) return false
  return ask(session.terminal, 'Does every signer use it?')
}

function isOver({ expireTime }: JwtKey, moment: number): boolean {
  return expireTime !== undefined && Date.parse(expireTime) <= moment
}

/** Step 4: the old key goes when the last token that it signed has expired. */
async function switchOff({ session, old, lifetime, signal }: Rotation): Promise<void> {
  const { client, project } = session
  if (!old.active) return
  if (lifetime === 0) {
    await client.keys.update(project, old.id, { active: false })
    session.notify(`4. “${old.label}” is switched off.`)
    return
  }
  const end = session.now() + lifetime
  const { expireTime = new Date(end).toISOString() } = isOver(old, end) ? old : {}
  if (expireTime !== old.expireTime) await client.keys.update(project, old.id, { expireTime })
  session.notify(`4. “${old.label}” counts until ${expireTime}, for the tokens that it has signed.`)
  await waitUntil(session, Date.parse(expireTime), '4. Until its tokens have expired', signal)
}

function report(rotation: Rotation, outcome: Outcome, file: string): void {
  const { session, next, old } = rotation
  const document = { outcome, kid: next.id, algorithm: next.algorithm, old: old.id }
  session.print(document, () => `${next.id}\n`)
  if (outcome === 'deleted') session.notify(`6. “${old.label}” is deleted. The rotation is done.`)
  if (outcome === 'kept')
    session.notify(`6. “${old.label}” stays in the list, switched off. The rotation is done.`)
  if (outcome === 'switch_signer') {
    const flags = { ...rotation.flags, switched: true as const }
    session.notify(`   When it does: ${commandToGoOn({ ...rotation, flags }, file)}`)
  }
}

/** The same command, with what it found out by itself the first time. */
function commandToGoOn({ session, old, flags }: Rotation, file: string): string {
  const { url, apiKeyFile, profile, tokenLifetime } = flags
  const options = { url, apiKeyFile, profile, project: session.project, tokenLifetime }
  const words = Object.entries(options).flatMap(([name, value]) => {
    const option = `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
    return value === undefined ? [] : [option, quoteForShell(value)]
  })
  const all = ['pubring key rotate', quoteForShell(file), '--old', old.id, ...words]
  const switched = flags.switched === true ? ['--switched'] : []
  return [...all, ...switched, ...(flags.keep === true ? ['--keep'] : [])].join(' ')
}

function isInterruption(error: unknown, signal: AbortSignal): boolean {
  return signal.aborted || (error instanceof Error && error.name === 'ExitPromptError')
}

function left(rotation: Rotation, file: string): CommandError {
  return new CommandError(
    'interrupted',
    'Left. What is done stays done, and a key that is to expire does.',
    {
      hints: [`To go on: ${commandToGoOn(rotation, file)}`],
    },
  )
}
