import { hash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { formatCheckpoint, parseCheckpoint } from '@pubring/client/internal/log/checkpoint'
import { verifyCheckpoint } from '@pubring/client/internal/log/ledger-proof'
import {
  createVerifierKey,
  formatNote,
  formatVerifierKey,
  parseNote,
  signatureTypes,
  signNote,
  type VerifierKey,
} from '@pubring/client/internal/log/note'
import { consistencyProof, treeRoot } from '@pubring/client/internal/log/proofs'
import { type TreeHead, verifyConsistency } from '@pubring/client/internal/log/tree'
import type { Origin } from '../../kernel/changes.ts'
import type { Context, CoreConfig, LogSigner } from '../../kernel/context.ts'
import { newId } from '../../kernel/values/ids.ts'
import { now } from '../../kernel/values/times.ts'
import { present } from '../../runtime/present.ts'
import { appendMovedHeads, endWithHeads, type RunLimits } from './appending.ts'
import { type LogStart, type LogTree, logChanges } from './changes.ts'
import { dateNote, lateBefore } from './dating.ts'
import { logError } from './faults.ts'
import { requireRoot } from './last-heads/heads.ts'
import { readStarts, readTree } from './reads.ts'
import { createNodeReader, sha256 } from './tiles.ts'
import type { Submission, Witnesses } from './witnesses.ts'

/** How often, and after which pause, publishing is tried if another process does the same. */
const maxTries = 10
const retryMs = 20

/** The part of the context that the log needs. */
export interface LogContext extends Pick<Context, 'store' | 'clock'> {
  config: Pick<CoreConfig, 'publicUrl'>
  /** The witnesses that cosign the checkpoints. */
  witnesses?: Witnesses
}

/** The part of an origin that the key determines: no two trees have one. */
export function logId({ publicKey }: Pick<LogSigner, 'publicKey'>): string {
  return hash('sha256', publicKey, 'hex').slice(0, 8)
}

/** The name of the key in checkpoints, and of the tree: its public URL. */
export function logOrigin(publicUrl: string, signer: Pick<LogSigner, 'publicKey'>): string {
  return `${publicUrl.replace(/^https?:\/\//, '')}/log/${logId(signer)}`
}

export function logVerifierKey(
  origin: string,
  { publicKey }: Pick<LogSigner, 'publicKey'>,
): Promise<VerifierKey> {
  return createVerifierKey({ name: origin, type: signatureTypes.ed25519, publicKey })
}

/**
 * The tree that grows, which is started if nothing was ever signed. Throws `log_stopped` if something
 * was, which the database has lost.
 */
async function readOrStartTree(context: LogContext, signer: LogSigner): Promise<LogTree> {
  const signed = signer.newest()
  const found = await readTree(context.store.reader)
  if (found !== undefined) return found
  if (signed !== undefined) throw logError('diverged')
  const { clock } = context
  const origin = { actor: { name: 'pubring serve' }, requestId: newId(), time: now(clock) }
  return startTree(context, signer, origin)
}

/** Throws `log_stopped` if this process could not sign the next checkpoint. Signs and starts nothing. */
export async function requireContinuous(context: LogContext, signer: LogSigner): Promise<void> {
  const found = await readTree(context.store.reader)
  if (found !== undefined) await readContinuous(context, signer, found.id)
  else if (signer.newest() !== undefined) throw logError('diverged')
}

/** Whether it is time to date the published checkpoint again; false if there is none. */
export async function isDateDue({ store, clock }: LogContext, signer: LogSigner): Promise<boolean> {
  const { origin, checkpoint } = (await readTree(store.reader)) ?? {}
  if (origin === undefined || checkpoint === undefined) return false
  const log = await logVerifierKey(origin, signer)
  return verifyCheckpoint(checkpoint, { log }).then(
    ({ date = 0 }) => date < lateBefore(clock.now()),
    // The checkpoint was altered in the database: the next run replaces it.
    () => true,
  )
}

/**
 * Starts a tree in place of the one that has stopped. Throws `log_stopped` if the key has signed one
 * before: two trees of one origin would be a fork.
 */
export async function restartLog(
  context: LogContext,
  signer: LogSigner,
  origin: Origin,
): Promise<LogTree> {
  const { reader } = context.store
  const name = logOrigin(context.config.publicUrl, signer)
  const isUsed = signer.lastSigned(name) !== undefined
  if (isUsed || (await readTree(reader, logId(signer))) !== undefined) throw logError('key_used')
  const running = await readTree(reader)
  const last = lastTree(signer.newest() ?? running?.checkpoint)
  return startTree(context, signer, origin, { ...present({ id: running?.id }), ...last })
}

/** Starts a tree, in one transaction with its event, unless another process with the key has done so. */
async function startTree(
  { store, config }: LogContext,
  signer: LogSigner,
  origin: Origin,
  previous?: LogStart['previous'],
): Promise<LogTree> {
  const name = logOrigin(config.publicUrl, signer)
  const verifierKey = formatVerifierKey(await logVerifierKey(name, signer))
  const tree = { id: logId(signer), origin: name, verifierKey }
  await store.commit(logChanges.startLog, { origin, tree, ...present({ previous }) })
  const started = await readTree(store.reader)
  if (started === undefined) throw logError('diverged')
  return started
}

/** The description of this tree in the event of the next one. */
function lastTree(checkpoint: string | undefined) {
  if (checkpoint === undefined) return {}
  try {
    const { origin, size, root } = readCheckpoint(checkpoint)
    return { origin, size, hash: Buffer.from(root).toString('hex') }
  } catch {
    // The checkpoint was altered in the database.
    return {}
  }
}

interface Continuous {
  log: LogTree
  tree: TreeHead
  /** The last checkpoint that the key has signed. */
  signed?: TreeHead & { note: string }
}

/**
 * The tree as it is now. Throws `log_stopped` unless this process may sign the next checkpoint: its tree
 * extends that of the last one.
 */
async function readContinuous(
  { store }: LogContext,
  signer: LogSigner,
  id: string,
): Promise<Continuous> {
  const before = await readTree(store.reader, id)
  if (before === undefined || before.endTime !== undefined) throw logError('diverged')
  const key = formatVerifierKey(await logVerifierKey(before.origin, signer))
  if (key !== before.verifierKey) throw logError('other_key')
  const note = signer.lastSigned(before.origin)
  // Again, because another process with the key may just have appended and signed.
  const log = note === undefined ? before : ((await readTree(store.reader, id)) ?? before)
  const read = createNodeReader(store.reader, log.size)
  const tree = { size: log.size, root: await treeRoot(log.size, read, sha256) }
  if (note === undefined) {
    if (before.checkpoint !== undefined) throw logError('checkpoints_missing')
    // Otherwise a row inserted into the database would be signed, and no event would show it.
    const started = (await readStarts(store.reader)).at(-1)
    if (started?.origin !== before.origin) throw logError('not_recorded')
    return { log, tree }
  }
  const signed = { ...readCheckpoint(note), note }
  if (signed.size < before.checkpointSize) throw logError('other_signer')
  await requireExtension({ store }, signed, tree)
  return { log, tree, signed }
}

/**
 * Throws `log_stopped` unless the tree extends that of a checkpoint, such as the last signed one or
 * one that a witness has.
 */
async function requireExtension(
  { store }: Pick<LogContext, 'store'>,
  older: TreeHead,
  newer: TreeHead,
): Promise<void> {
  if (older.size > newer.size) throw logError('diverged')
  const read = createNodeReader(store.reader, newer.size)
  const proof = await consistencyProof(older.size, newer.size, read, sha256)
  if (!(await verifyConsistency(older, newer, proof))) throw logError('diverged')
}

export function readCheckpoint(note: string) {
  return parseCheckpoint(parseNote(note).text)
}

/**
 * Appends the heads that moved to the tree, and signs and publishes a checkpoint of it. Throws
 * `log_stopped` if this process must not. Reads the heads of all ledgers, a page at a time; apart from
 * that, the cost is proportional to the heads that moved.
 */
export async function signCheckpoint(
  context: LogContext,
  signer: LogSigner,
  limits: RunLimits = {},
): Promise<LogTree & { isPartial: boolean }> {
  const { id } = await readOrStartTree(context, signer)
  const { log, signed } = await readContinuous(context, signer, id)
  if (signed !== undefined) {
    await context.witnesses?.confirm(submissionOf(context, signer, log, signed))
  }
  const isPartial = await appendMovedHeads(context, signer, log, limits)
  let published = await publish(context, signer, id)
  // Another process that has the key file was storing or publishing a checkpoint.
  for (let tries = 1; published.checkpointSize < published.size && tries < maxTries; tries += 1) {
    await delay(retryMs)
    published = await publish(context, signer, id)
  }
  return { ...published, isPartial }
}

function submissionOf(
  { store }: LogContext,
  signer: LogSigner,
  { origin }: LogTree,
  { note, size }: { note: string; size: number },
): Submission {
  const read = createNodeReader(store.reader, size)
  return {
    note,
    proofFrom: (oldSize) => consistencyProof(oldSize, size, read, sha256),
    signedSize() {
      const last = signer.lastSigned(origin)
      return last === undefined ? 0 : readCheckpoint(last).size
    },
  }
}

/**
 * The checkpoint is stored in the file of signed checkpoints before anyone else can see it, and the witnesses see it
 * before it is published. One that was stored and not published, because the process ended in between
 * or a witness contradicted, is published now; one that lacks cosignatures, with those.
 */
async function publish(context: LogContext, signer: LogSigner, id: string): Promise<LogTree> {
  const before = await readContinuous(context, signer, id)
  const key = await logVerifierKey(before.log.origin, signer)
  if (!(await isSizeSigned(before, key))) throw logError('damaged')
  const ended = await endWithHeads(context, signer, before)
  const isSame = ended?.size === before.log.size
  const { log, tree, signed } = isSame ? before : await readContinuous(context, signer, id)
  const { origin, checkpointSize } = log
  // Another process has appended something, or published it.
  if (log.size !== ended?.size || checkpointSize !== before.log.checkpointSize) return log
  const { size } = tree
  const text = formatCheckpoint({ origin, ...tree })
  const published = checkpointSize === size ? await readPublished(log, text, key) : undefined
  const isSigned = signed?.size === size
  // Whatever was written into the database meanwhile, what is signed ends with the root that was computed.
  if (!isSigned && published === undefined)
    await requireRoot(context.store.reader, tree, ended.root)
  const unpublished = () => (isSigned ? signed.note : signTree(text, key, signer))
  const now = context.clock.now()
  const note = await dateNote(published ?? (await unpublished()), key, signer, now)
  if (!isSigned && !record(signer, origin, note)) return log
  const submission = submissionOf(context, signer, log, { note, size })
  const cosigned = (await context.witnesses?.cosign(submission, lateBefore(now))) ?? note
  if (cosigned === published) return log
  const { tiles, slots } = ended
  const publication = { id, from: checkpointSize, size, checkpoint: cosigned, tiles, slots }
  const isPublished = await context.store.commit(logChanges.publishCheckpoint, publication)
  return isPublished ? { ...log, checkpoint: cosigned, checkpointSize: size } : log
}

/** Whether the key has signed a checkpoint of the published size, which is the base of the next map. */
async function isSizeSigned(
  { log: { checkpoint = '', checkpointSize }, signed }: Continuous,
  log: VerifierKey,
): Promise<boolean> {
  if (checkpointSize === 0 || checkpointSize === signed?.size) return true
  return verifyCheckpoint(checkpoint, { log }).then(
    ({ size }) => size === checkpointSize,
    () => false,
  )
}

function record(signer: LogSigner, origin: string, note: string): boolean {
  try {
    return signer.record(origin, note)
  } catch (error) {
    throw logError('not_stored', error)
  }
}

async function signTree(text: string, key: VerifierKey, { sign }: LogSigner): Promise<string> {
  return formatNote(text, [await signNote(text, key, sign)])
}

/** The published checkpoint, if it has this text and is signed: nothing else may get a date. */
async function readPublished(
  { checkpoint = '' }: LogTree,
  text: string,
  log: VerifierKey,
): Promise<string | undefined> {
  try {
    await verifyCheckpoint(checkpoint, { log })
    return parseNote(checkpoint).text === text ? checkpoint : undefined
  } catch {
    // The checkpoint was altered in the database.
    return undefined
  }
}
