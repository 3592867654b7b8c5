import { setTimeout as delay } from 'node:timers/promises'
import type { Algorithm, JwtKey, Rotation } from '@pubring/client'
import { isoTime } from '@pubring/server/kernel/values/times'
import { projectCommandLine } from '../connection/command-lines.ts'
import type { ConnectionFlags } from '../connection/connection.ts'
import { pickOne } from '../connection/pick.ts'
import type { Session } from '../connection/session.ts'
import { ask, askText, type YesFlag } from '../terminal/confirm.ts'
import { CommandError, usageError } from '../terminal/failures.ts'
import { type Column, formatTable, timeColumn } from '../terminal/table.ts'
import { isInteractive } from '../terminal/terminal.ts'
import { formatDuration, parseTokenLifetime } from '../terminal/times.ts'
import { registerKey, requireAccepted } from './add.ts'
import { readPublicKeyFile } from './files.ts'
import { findKey } from './find.ts'
import type { PublicKeyFile } from './jwk.ts'
import { confirmLastActive, withPatches } from './last-active.ts'
import { confirmUses } from './uses.ts'

/** Flags of `key rotate`. */
interface KeyRotateFlags extends ConnectionFlags, YesFlag {
  /** Without an id: the only rotation under way. */
  resume?: string | true
  label?: string
  new?: string
  old?: string
  algorithm?: Algorithm
  switched?: true
  /** In seconds. */
  tokenLifetime?: number
}

/** Replaces a key by a new one. All state is on the server: anyone can go on with it. */
export async function rotateKey(
  session: Session,
  file: string | undefined,
  flags: KeyRotateFlags,
): Promise<void> {
  if (file !== undefined && flags.resume !== undefined) {
    throw usageError('--resume takes no file: the rotation has its new key.')
  }
  const rotation =
    flags.resume === undefined
      ? await begin(session, file, flags)
      : await findRotation(session, flags.resume)
  const signal = session.terminal.interruptSignal()
  session.terminal.requestsEnd = signal
  try {
    report(session, await proceed(session, rotation, flags, signal))
  } catch (error) {
    if (!isInterruption(error, signal)) throw error
    const hints = [`Resume with: ${resumeCommand(session, rotation)}`]
    throw new CommandError('interrupted', 'Stopped. Completed steps stay.', { hints })
  }
}

/** Step 1: registers the new key unless it is there, and starts the rotation unless it is under way. */
async function begin(
  session: Session,
  file: string | undefined,
  flags: KeyRotateFlags,
): Promise<Rotation> {
  const { client, project, notify } = session
  if ((file === undefined) === (flags.new === undefined)) {
    throw usageError('Name the file of the new public key, or pass --new or --resume.')
  }
  const tokenLifetime = flags.tokenLifetime ?? (await askLifetime(session))
  // Before any request, as it must be no private key.
  const key = file === undefined ? undefined : await readPublicKeyFile(file, session.terminal)
  if (key?.converted !== undefined) notify(key.converted)
  const rotations = await client.rotations.list(project)
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
  const old =
    flags.old === undefined ? onlyActive(session, others) : findKey(session, others, flags.old)
  const rotation = await client.rotations.start(project, { from: old.id, to, tokenLifetime })
  notify(`1. The key ${to} replaces “${old.label}”: rotation ${rotation.id}.`)
  return rotation
}

async function askLifetime({ terminal }: Session): Promise<number> {
  if (!isInteractive(terminal)) {
    throw usageError('--token-lifetime is missing: how long your tokens are valid.')
  }
  return parseTokenLifetime(
    await askText(terminal, 'How long are your tokens valid at most?', '15m'),
  )
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
  if (old === undefined) onlyActive(session, keys)
  return registerKey(session, key, { name: label, algorithm })
}

function onlyActive(session: Session, keys: readonly JwtKey[]): JwtKey {
  const active = keys.filter((key) => key.active)
  const [first] = active
  if (first === undefined) {
    const add = projectCommandLine(session, 'key add', 'public.pem', '--label', 'first key')
    throw usageError(
      'No other key is active.',
      'Choose the key to replace with --old.',
      `To register a first key: ${add}`,
    )
  }
  if (active.length === 1) return first
  const hints = active.map(({ id, label }) => `--old ${id}  (${label})`)
  throw usageError('Several keys are active: choose the one to replace.', ...hints)
}

/** Steps 2 to 4, without those that are done. */
async function proceed(
  session: Session,
  rotation: Rotation,
  flags: KeyRotateFlags,
  signal: AbortSignal,
): Promise<Rotation> {
  const { client, project, notify } = session
  const { id, from, to, state, convergedTime, tokenLifetime: before } = rotation
  if (state === 'finished' || state === 'abandoned') return rotation
  const { tokenLifetime = before } = flags
  if (tokenLifetime !== before) await client.rotations.update(project, id, { tokenLifetime })
  if (convergedTime === undefined) {
    throw new CommandError('conflict', 'The new key is inactive, or has to be replaced itself.', {
      code: 'key_inactive',
      hints: [`To see why: ${projectCommandLine(session, 'key show', to)}`],
    })
  }
  await waitUntil(session, Date.parse(convergedTime), signal)
  notify('2. Every verifier that honors the cache headers knows the new key.')
  if (!(await isSignerSwitched(session, rotation, flags))) return client.rotations.get(project, id)
  const expireTime = isoTime(session.now() + tokenLifetime * 1_000)
  const keys = await client.keys.list(project)
  await confirmUses(
    session,
    keys.filter((key) => key.id === from),
    flags,
  )
  const after = withPatches(keys, new Map([[from, { expireTime }]]))
  await confirmLastActive(session, { before: keys, after }, flags)
  return client.rotations.finish(project, id)
}

/** Step 3: asks whether the signer uses the new key. */
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
  const { state, from, to, expireTime, endTime } = rotation
  session.print({ ...rotation, kid: to, old: from }, () => `${to}\n`)
  if (state === 'finished') {
    const end = expireTime === undefined ? `is off since ${endTime}` : `expires at ${expireTime}`
    session.notify(`4. The old key, ${from}, ${end}.`)
  } else if (state === 'overlapping') {
    const resume = resumeCommand(session, rotation)
    session.notify(
      `   Once every signer uses it, run: ${resume}\n   Without a terminal, confirm that with --switched.`,
    )
  }
}

/** The command that goes on. It leaves `--switched` to the person who has switched the signer. */
function resumeCommand(session: Session, { id }: Rotation): string {
  return projectCommandLine(session, 'key rotate --resume', id)
}

function isInterruption(error: unknown, signal: AbortSignal): boolean {
  return signal.aborted || (error instanceof Error && error.name === 'ExitPromptError')
}

/** A Node timer of more than 2^31 ms fires at once. */
const maxTimerMs = 86_400_000

/** Resolves at `time` (milliseconds, by the server's clock). Rejects when the signal is aborted. */
async function waitUntil(session: Session, time: number, signal: AbortSignal): Promise<void> {
  const total = time - session.now()
  if (total <= 0) return
  session.notify(
    `2. Until every verifier knows it: waiting ${formatDuration(total)}, until ${isoTime(time)}.`,
  )
  for (let left = total; left > 0; left = time - session.now()) {
    await delay(Math.min(left, maxTimerMs), undefined, { signal })
  }
}

const columns: readonly Column<Rotation>[] = [
  { heading: 'ID', value: ({ id }) => id, id: true },
  { heading: 'OLD', value: ({ from }) => from, id: true },
  { heading: 'NEW', value: ({ to }) => to, id: true },
  { heading: 'STATE', value: ({ state }) => state },
  timeColumn('CONVERGES', ({ convergedTime }) => convergedTime),
  timeColumn('OLD KEY EXPIRES', ({ expireTime }) => expireTime),
  { heading: 'STARTED BY', value: ({ startedBy }) => startedBy.name, cut: true },
]

export async function listRotations(session: Session): Promise<void> {
  const { client, project, terminal, print, notify } = session
  const rotations = await session.client.rotations.list(session.project)
  const kids = (await client.keys.list(project)).map(({ id }) => id)
  print(rotations, () => formatTable(terminal, columns, rotations, kids))
  if (rotations.length === 0) notify(`Project ${project} has no rotations.`)
}

export async function abandonRotation(session: Session, ref: string): Promise<void> {
  const { id } = await findRotation(session, ref)
  await session.client.rotations.abandon(session.project, id)
  session.print({ abandoned: id })
  session.notify(`Abandoned the rotation ${id}. The keys stay as they are.`)
}

/** The rotation with this id or end of one; without: the only one under way. */
async function findRotation(session: Session, ref: string | true): Promise<Rotation> {
  const rotations = await session.client.rotations.list(session.project)
  const list = projectCommandLine(session, 'key rotation list')
  if (ref === true) {
    const open = rotations.filter(({ state }) => /^(spreading|overlapping)$/.test(state))
    const [only, ...others] = open
    if (only !== undefined && others.length === 0) return only
    throw usageError(
      `${open.length} rotations are under way: name one after --resume.`,
      `To see the rotations: ${list}`,
    )
  }
  return pickOne(rotations, ref, {
    list,
    noun: 'rotation',
    missing: `Project ${session.project} has no rotation`,
    nameOf: ({ id }) => id,
    describe: ({ from, to }) => `${from} → ${to}`,
  })
}
