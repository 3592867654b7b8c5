import type { JwtKey, Rotation } from '../../../client/src/index.ts'
import type { ConnectionFlags } from '../connection/connection.ts'
import type { Session } from '../connection/session.ts'
import { ask, type YesFlag } from '../terminal/confirm.ts'
import { CommandError, usageError } from '../terminal/failures.ts'
import { isInteractive, quoteForShell, toFlag } from '../terminal/terminal.ts'
import { parseDurationOption } from '../terminal/times.ts'
import { registerKey, requireAccepted } from './add.ts'
import { type DescendantsFlag, decisionOf } from './changes.ts'
import type { PublicKeyFile } from './conversion.ts'
import { readPublicKeyFile } from './files.ts'
import { findKey } from './find.ts'
import { parseAlgorithm } from './kinds.ts'
import { confirmPatch } from './last-active.ts'
import { findRotation, readRotations } from './rotations.ts'
import { waitUntil } from './waiting.ts'

/** Flags of `key rotate`. */
interface KeyRotateFlags extends ConnectionFlags, YesFlag, DescendantsFlag {
  /** Without an id: the only rotation under way. */
  resume?: string | true
  label?: string
  new?: string
  old?: string
  algorithm?: string
  switched?: true
  tokenLifetime?: string
  /** Without a time: after a day. */
  delete?: string | true
}

/** Replaces a key by a new one. All state is on the server: anyone can go on with it. */
export async function rotateKey(
  session: Session,
  file: string | undefined,
  flags: KeyRotateFlags,
): Promise<void> {
  for (const option of ['tokenLifetime', 'delete'] as const) lifetimeOf(flags, option)
  parseAlgorithm(flags.algorithm)
  if (file !== undefined && flags.resume !== undefined) {
    throw usageError('--resume takes no file: the rotation has its new key.')
  }
  const rotation =
    flags.resume === undefined
      ? await begin(session, file, flags)
      : await findRotation(session, flags.resume)
  const signal = session.terminal.interruptSignal()
  try {
    report(session, await proceed(session, rotation, flags, signal))
  } catch (error) {
    if (!isInterruption(error, signal)) throw error
    const hints = [`Resume with: ${resumeCommand(session, rotation)}`]
    throw new CommandError('interrupted', 'Stopped. Completed steps stay.', { hints })
  }
}

/** Seconds of an option; undefined if it has no value. Throws a usage error. */
function lifetimeOf(flags: KeyRotateFlags, option: 'tokenLifetime' | 'delete'): number | undefined {
  const value = flags[option]
  return typeof value === 'string' ? parseDurationOption(value, toFlag(option)) : undefined
}

/** Step 1: registers the new key unless it is there, and starts the rotation unless it is under way. */
async function begin(
  session: Session,
  file: string | undefined,
  flags: KeyRotateFlags,
): Promise<Rotation> {
  const { client, project, notify } = session
  if ((file === undefined) === (flags.new === undefined)) {
    throw usageError('Name the file of the new public key, or pass --new, --resume or --self.')
  }
  if (flags.tokenLifetime === undefined) {
    throw usageError('--token-lifetime is missing: how long your tokens are valid.')
  }
  // First, as it must be no private key.
  const key = file === undefined ? undefined : await readPublicKeyFile(file, session.terminal)
  if (key?.converted !== undefined) notify(key.converted)
  // Before anything is registered, as an older server has none.
  const rotations = await readRotations(session)
  const keys = await client.keys.list(project)
  const next = key && (await registered(session, key, keys, flags))
  const to = next ?? findKey(session, keys, flags.new ?? '').id
  const others = keys.filter(({ id }) => id !== to)
  const known = rotations.find((one) => one.to === to && one.state !== 'abandoned')
  const isSame = flags.old === undefined || flags.old === known?.from
  if (
    known !== undefined &&
    (isSame || findKey(session, others, flags.old ?? '').id === known.from)
  ) {
    notify(`1. Resuming the rotation ${known.id}.`)
    return known
  }
  const old = flags.old === undefined ? onlyActive(others) : findKey(session, others, flags.old)
  const rotation = await client.rotations.start(project, { from: old.id, to })
  notify(`1. The key ${to} replaces “${old.label}”: rotation ${rotation.id}.`)
  return rotation
}

/** The kid of the key in the file. */
async function registered(
  session: Session,
  key: PublicKeyFile,
  keys: readonly JwtKey[],
  { label, algorithm, old }: KeyRotateFlags,
): Promise<string> {
  const { publicKeyPem } = await requireAccepted(session, key)
  const present = keys.find((each) => each.publicKeyPem === publicKeyPem)
  if (present !== undefined) return present.id
  if (label === undefined) throw usageError('The new key is not registered yet: add --label.')
  if (old === undefined) onlyActive(keys)
  return registerKey(session, key, { name: label, algorithm: parseAlgorithm(algorithm) })
}

function onlyActive(keys: readonly JwtKey[]): JwtKey {
  const active = keys.filter((key) => key.active)
  const [first] = active
  if (first === undefined) {
    throw usageError(
      'No other key is active.',
      'Choose the key to replace with --old, or register a first key with pubring key add.',
    )
  }
  if (active.length === 1) return first
  const hints = active.map(({ id, label }) => `--old ${id}  (${label})`)
  throw usageError('Several keys are active: choose the one to replace.', ...hints)
}

/** Steps 2 to 4, without those that are done. Servers take the last ones by themselves. */
async function proceed(
  session: Session,
  rotation: Rotation,
  flags: KeyRotateFlags,
  signal: AbortSignal,
): Promise<Rotation> {
  const { client, project, notify } = session
  const { id, to, state, convergedTime, schedule } = rotation
  const isWaiting = schedule?.waitingReason !== undefined
  if (isWaiting) notify(`   ${schedule.waitingDetail}`)
  if (state === 'finished' || (schedule && !isWaiting)) {
    const { resume, tokenLifetime, delete: deletion } = flags
    const changed = state === 'finished' ? deletion : (tokenLifetime ?? deletion)
    // The same command run again, without --resume, postpones nothing.
    const isChange = resume !== undefined && changed !== undefined
    return isChange ? scheduleEnd(session, rotation, flags) : rotation
  }
  if (convergedTime === undefined) {
    throw new CommandError('conflict', 'The new key is inactive.', {
      code: 'key_inactive',
      hints: [`pubring key activate ${to} --project ${project}`],
    })
  }
  await waitUntil(session, Date.parse(convergedTime), '2. Until every verifier knows it', signal)
  notify('2. Every verifier that honors the cache headers knows the new key.')
  if (!(await isSignerSwitched(session, rotation, flags))) return client.rotations.get(project, id)
  if (flags.tokenLifetime === undefined) {
    throw usageError('--token-lifetime is missing: how long your tokens are valid.')
  }
  return scheduleEnd(session, rotation, flags)
}

/** Step 4. Without `--token-lifetime`, the end of the old key stays as it is. */
async function scheduleEnd(
  session: Session,
  { id, from, state, schedule }: Rotation,
  flags: KeyRotateFlags,
): Promise<Rotation> {
  const { client, project } = session
  const isFinished = state === 'finished'
  const seconds = isFinished ? 0 : lifetimeOf(flags, 'tokenLifetime')
  if (!isFinished && seconds !== undefined) {
    const keys = await client.keys.list(project)
    await confirmPatch(session, keys, [from, { active: false }], flags)
    if (seconds === 0) await client.rotations.finish(project, id, decisionOf(flags))
  }
  const end =
    seconds === undefined
      ? Date.parse(schedule?.disableTime ?? '')
      : session.now() + seconds * 1_000
  const deleteTime = end + (lifetimeOf(flags, 'delete') ?? defaultDeletion) * 1_000
  const patch = {
    ...(seconds ? { disableTime: new Date(end).toISOString(), ...decisionOf(flags) } : {}),
    ...(flags.delete === undefined ? {} : { deleteTime: new Date(deleteTime).toISOString() }),
  }
  return client.rotations.schedule(project, id, patch)
}

/** Seconds. Longer than any verifier is known to keep a key. */
const defaultDeletion = 86_400

/** Step 3. */
async function isSignerSwitched(
  { client, project, terminal, notify }: Session,
  { to }: Rotation,
  { switched }: KeyRotateFlags,
): Promise<boolean> {
  if (switched === true) return true
  const { details } = await client.keys.get(project, to)
  const kid = details.publishedKid ?? to
  notify(`3. Now switch the signer to the new key: ${details.jwsAlgorithm}, kid ${kid}.`)
  return isInteractive(terminal) && ask(terminal, 'Does every signer use it?')
}

function report(session: Session, rotation: Rotation): void {
  const { id, state, from, to, schedule, endTime } = rotation
  session.print({ ...rotation, kid: to, old: from }, () => `${to}\n`)
  const next = schedule?.disableTime
  const deletion = schedule?.deleteTime
  const lines = [
    state === 'finished' && `4. The old key, ${from}, is off since ${endTime}.`,
    next && `4. The server deactivates the old key, ${from}, at ${next}: rotation ${id}.`,
    deletion && `   It deletes that key at ${deletion}.`,
    state === 'overlapping' &&
      next === undefined &&
      `   Once every signer uses it, run: ${resumeCommand(session, rotation)}`,
  ]
  for (const line of lines) if (typeof line === 'string') session.notify(line)
}

function resumeCommand({ project, flags }: Session, { id }: Rotation): string {
  const given: KeyRotateFlags = flags ?? {}
  const { tokenLifetime = 'TIME', delete: deletion, descendants, url, profile, apiKeyFile } = given
  const kept = { delete: deletion, descendants, url, profile, apiKeyFile }
  const words = Object.entries({ project, tokenLifetime, ...kept }).flatMap(([name, value]) => {
    if (value === undefined) return []
    return value === true ? [toFlag(name)] : [toFlag(name), quoteForShell(value)]
  })
  return ['pubring key rotate --resume', id, '--switched', ...words].join(' ')
}

export function isInterruption(error: unknown, signal: AbortSignal): boolean {
  return signal.aborted || (error instanceof Error && error.name === 'ExitPromptError')
}
