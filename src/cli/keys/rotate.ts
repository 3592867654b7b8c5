import type { JwtKey, JwtKeyUpdate, JwtKeyWithDetails } from '../../../client/src/index.ts'
import { parseId } from '../../core/ids.ts'
import type { ConnectionFlags } from '../connection/connection.ts'
import type { Session } from '../connection/session.ts'
import { ask, type YesFlag } from '../terminal/confirm.ts'
import { CommandError, usageError } from '../terminal/failures.ts'
import { quoteForShell } from '../terminal/output.ts'
import { isInteractive } from '../terminal/terminal.ts'
import { parseDurationOption } from '../terminal/times.ts'
import { registerKey, requireAccepted } from './add.ts'
import { type DescendantsFlag, decisionOf } from './changes.ts'
import type { PublicKeyFile } from './conversion.ts'
import { readPublicKeyFile } from './files.ts'
import { findKey } from './find.ts'
import { parseAlgorithm } from './kinds.ts'
import { confirmPatch } from './last-active.ts'
import { waitUntil } from './waiting.ts'

/** Flags of `key rotate`. */
interface KeyRotateFlags extends ConnectionFlags, YesFlag, DescendantsFlag {
  name?: string
  old?: string
  algorithm?: string
  switched?: true
  tokenLifetime?: string
  delete?: true
}

/** A rotation in progress. All of its state is on the server, so it can be resumed. */
interface Rotation {
  session: Session
  signal: AbortSignal
  /** The file of the new key. */
  file: string
  flags: KeyRotateFlags & { tokenLifetime: string }
  tokenLifetimeMs: number
  next: JwtKeyWithDetails
  old: JwtKey
}

/** How far the rotation is when the command ends. */
type Outcome = 'switch_signer' | 'deleted' | 'kept'

/**
 * Replaces a key by a new one without rejecting any legitimate token. Run again with the same file,
 * it resumes where it stopped. One file, because the steps only make sense together.
 */
export async function rotateKey(
  session: Session,
  file: string | undefined,
  { tokenLifetime, ...others }: KeyRotateFlags,
): Promise<void> {
  if (file === undefined) throw usageError('Name the file of the new public key, or use --self.')
  if (tokenLifetime === undefined) {
    throw usageError('--token-lifetime is missing: how long your tokens are valid.')
  }
  const flags = { tokenLifetime, ...others }
  const tokenLifetimeMs = parseDurationOption(tokenLifetime, '--token-lifetime') * 1_000
  parseAlgorithm(flags.algorithm)
  const key = await readPublicKeyFile(file, session.terminal)
  if (key.converted !== undefined) session.notify(key.converted)
  const { publicKeyPem } = await requireAccepted(session, key)
  const keys = await session.client.keys.list(session.project)
  const registered = keys.find((each) => each.publicKeyPem === publicKeyPem)
  const oldKid = parseId(flags.old ?? '')
  if (registered && oldKid !== undefined && keys.every(({ id }) => id !== oldKid)) {
    const { id: kid, label, algorithm } = registered
    session.print({ outcome: 'deleted', kid, algorithm, old: flags.old }, () => `${kid}\n`)
    session.notify(`“${label}” is registered and the old key is gone: the rotation is complete.`)
    return
  }
  const signal = session.terminal.interruptSignal()
  const pair = await registerNewKey(session, key, { keys, registered }, flags)
  const rotation = { session, signal, file, flags, tokenLifetimeMs, ...pair }
  try {
    report(rotation, await resume(rotation))
  } catch (error) {
    throw isInterruption(error, signal) ? interruptedError(rotation) : error
  }
}

/** Step 1: both keys are registered. */
async function registerNewKey(
  session: Session,
  key: PublicKeyFile,
  { keys, registered }: { keys: JwtKey[]; registered: JwtKey | undefined },
  flags: KeyRotateFlags,
): Promise<Pick<Rotation, 'next' | 'old'>> {
  const { client, project } = session
  const others = keys.filter(({ id }) => id !== registered?.id)
  const old = flags.old === undefined ? onlyActive(others) : findKey(session, others, flags.old)
  const kid = registered?.id ?? (await registerKey(session, key, registration(flags)))
  const next = await client.keys.get(project, kid)
  if (!next.active) {
    throw new CommandError('conflict', `The new key “${next.label}” is inactive.`, {
      code: 'key_inactive',
      hints: [`pubring key activate ${kid} --project ${project}`],
    })
  }
  session.notify(`1. ${registered ? 'Resuming with' : 'Registered'} “${next.label}”, kid ${kid}.`)
  if (next.createTime < old.createTime) {
    session.notify(
      `   It is older than “${old.label}”, which it replaces: press Ctrl-C if that is a mistake.`,
    )
  }
  return { next, old }
}

function registration({ name, algorithm }: KeyRotateFlags) {
  if (name === undefined) throw usageError('The new key is not registered yet: add --name.')
  return { name, algorithm: parseAlgorithm(algorithm) }
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

/** Steps 2 to 6, skipping those that are already done. */
async function resume(rotation: Rotation): Promise<Outcome> {
  const { session, next, old, signal } = rotation
  const { client, project } = session
  const nextKnown = Date.parse(next.details.convergedTime)
  await waitUntil(session, nextKnown, '2. Until every verifier knows it', signal)
  session.notify('2. Every verifier that honors the cache headers knows the new key.')
  if (!(await isSignerSwitched(rotation))) return 'switch_signer'
  await retireOldKey(rotation)
  const { details } = await client.keys.get(project, old.id)
  const oldForgotten = Date.parse(details.convergedTime)
  await waitUntil(session, oldForgotten, '5. Until no verifier trusts the old key', signal)
  session.notify('5. No verifier that honors the cache headers trusts the old key.')
  if (rotation.flags.delete !== true) return 'kept'
  await client.keys.delete(project, old.id, decisionOf(rotation.flags))
  return 'deleted'
}

/** Step 3: the signer uses the new key, or the old one expires within a token's lifetime anyway. */
async function isSignerSwitched(rotation: Rotation): Promise<boolean> {
  const { session, next, old, flags, tokenLifetimeMs } = rotation
  if (!old.active || expiresBy(old, session.now() + tokenLifetimeMs)) return true
  if (flags.switched === true) return true
  const { details, id } = next
  const kid = details.publishedKid ?? id
  session.notify(`3. Now switch the signer to the new key: ${details.jwsAlgorithm}, kid ${kid}.`)
  if (!isInteractive(session.terminal)) return false
  return ask(session.terminal, 'Does every signer use it?')
}

function expiresBy({ expireTime }: JwtKey, time: number): boolean {
  return expireTime !== undefined && Date.parse(expireTime) <= time
}

/** Step 4: the old key expires once the last token that it signed has expired. */
async function retireOldKey(rotation: Rotation): Promise<void> {
  const { session, old, tokenLifetimeMs, signal } = rotation
  if (!old.active) return
  if (tokenLifetimeMs === 0) {
    await updateOldKey(rotation, { active: false })
    session.notify(`4. Deactivated “${old.label}”.`)
    return
  }
  const end = session.now() + tokenLifetimeMs
  const { expireTime = new Date(end).toISOString() } = expiresBy(old, end) ? old : {}
  if (expireTime !== old.expireTime) await updateOldKey(rotation, { expireTime })
  session.notify(`4. “${old.label}” stays valid until ${expireTime}, for the tokens it has signed.`)
  await waitUntil(session, Date.parse(expireTime), '4. Until its tokens have expired', signal)
}

/** Demands a confirmation if the new key is no longer active, or expires as well. */
async function updateOldKey({ session, old, flags }: Rotation, patch: JwtKeyUpdate): Promise<void> {
  const { client, project } = session
  const keys = await client.keys.list(project)
  await confirmPatch(session, keys, [old.id, patch], flags)
  await client.keys.update(project, old.id, patch, decisionOf(flags))
}

function report(rotation: Rotation, outcome: Outcome): void {
  const { session, next, old, flags } = rotation
  const resumed = { ...rotation, flags: { ...flags, switched: true as const } }
  const messages: Record<Outcome, string> = {
    deleted: `6. Deleted “${old.label}”. The rotation is complete.`,
    kept: `6. “${old.label}” stays in the list, inactive. The rotation is complete.`,
    switch_signer: `   Once they do, run: ${resumeCommand(resumed)}\n   It ${remainingSteps(rotation)}.`,
  }
  const document = { outcome, kid: next.id, algorithm: next.algorithm, old: old.id }
  session.print(document, () => `${next.id}\n`)
  session.notify(messages[outcome])
}

/** What is left to do once the signer is switched, in the words of a promise. */
function remainingSteps({ old, flags }: Rotation): string {
  const retire =
    flags.tokenLifetime === '0'
      ? `deactivates “${old.label}” immediately`
      : `lets “${old.label}” expire ${flags.tokenLifetime} later`
  const last = flags.delete === true ? 'deletes it' : 'keeps it in the list, inactive'
  return `${retire}, waits until no verifier trusts it, and ${last}`
}

/** The same command, with the old key that it determined the first time. */
function resumeCommand({ session, old, flags, file }: Rotation): string {
  const { url, apiKeyFile, profile, tokenLifetime, descendants } = flags
  const own = { project: session.project, tokenLifetime, descendants }
  const options = { url, apiKeyFile, profile, ...own }
  const words = Object.entries(options).flatMap(([name, value]) => {
    const option = `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
    return value === undefined ? [] : [option, quoteForShell(value)]
  })
  const switches = [flags.switched && '--switched', flags.delete && '--delete'].filter(Boolean)
  const command = ['pubring key rotate', quoteForShell(file), '--old', old.id]
  return [...command, ...words, ...switches].join(' ')
}

export function isInterruption(error: unknown, signal: AbortSignal): boolean {
  return signal.aborted || (error instanceof Error && error.name === 'ExitPromptError')
}

function interruptedError(rotation: Rotation): CommandError {
  const message = 'Stopped. Completed steps stay; a scheduled expiry still applies.'
  const start = rotation.flags.switched === true ? 'It' : 'Once the signer is switched, it'
  const hints = [`Resume with: ${resumeCommand(rotation)}`, `${start} ${remainingSteps(rotation)}.`]
  return new CommandError('interrupted', message, { hints })
}
