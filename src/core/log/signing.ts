import { setTimeout as delay } from 'node:timers/promises'
import { formatCheckpoint, parseCheckpoint } from '../../../client/src/log/checkpoint.ts'
import {
  createVerifierKey,
  formatNote,
  formatVerifierKey,
  parseNote,
  signatureTypes,
  signNote,
  type VerifierKey,
} from '../../../client/src/log/note.ts'
import { consistencyProof, treeRoot } from '../../../client/src/log/proofs.ts'
import { type TreeHead, verifyConsistency } from '../../../client/src/log/tree.ts'
import type { Context, CoreConfig } from '../context.ts'
import { newId } from '../ids.ts'
import type { Origin } from '../ledger/changes.ts'
import { now } from '../times.ts'
import { appendMovedHeads, type RunLimits } from './appending.ts'
import { logError } from './faults.ts'
import type { LogEpoch, LogSigner } from './records.ts'
import { createNodeReader, sha256 } from './tiles.ts'
import type { Submission, Witnesses } from './witnesses.ts'

/** How often, and after which pause, publishing is tried if another process does the same. */
const maxTries = 10
const retryMs = 20

/** What the log needs of the context. */
export interface LogContext extends Pick<Context, 'store' | 'clock'> {
  config: Pick<CoreConfig, 'publicUrl'>
  /** They cosign the checkpoints. */
  witnesses?: Witnesses
}

/** The name of the key in checkpoints, and of the tree: the public URL of the log. */
export function logOrigin(publicUrl: string, epoch: number): string {
  const name = `${publicUrl.replace(/^https?:\/\//, '')}/log`
  return epoch === 1 ? name : `${name}/${epoch}`
}

export function logVerifierKey(origin: string, { publicKey }: LogSigner): Promise<VerifierKey> {
  return createVerifierKey({ name: origin, type: signatureTypes.ed25519, publicKey })
}

/**
 * The tree that grows; undefined if there was none yet. Throws `log_stopped` if this key has signed a
 * later one, which the database has lost.
 */
async function readGrowing(
  { store, config }: LogContext,
  signer: LogSigner,
): Promise<LogEpoch | undefined> {
  const found = await store.log.epoch()
  const next = (found?.epoch ?? 0) + 1
  if (signer.lastSigned(logOrigin(config.publicUrl, next)) === undefined) return found
  // Again, because another process may just have started it.
  const current = await store.log.epoch()
  if (current?.epoch === found?.epoch) throw logError('diverged')
  return current
}

/**
 * Starts a tree after the previous one, unless another process just has. Its origin is one that this
 * key has never signed a checkpoint for, even if the database has lost it.
 */
export async function startEpoch(
  { store, config }: LogContext,
  signer: LogSigner,
  origin: Origin,
  previous: LogEpoch | undefined,
): Promise<LogEpoch> {
  let epoch = (previous?.epoch ?? 0) + 1
  while (signer.lastSigned(logOrigin(config.publicUrl, epoch)) !== undefined) epoch += 1
  const name = logOrigin(config.publicUrl, epoch)
  const verifierKey = formatVerifierKey(await logVerifierKey(name, signer))
  await store.commit({
    type: 'log.start',
    origin,
    epoch,
    name,
    verifierKey,
    ...(previous === undefined ? {} : { previous: previous.origin }),
  })
  const started = await store.log.epoch()
  if (started === undefined) throw logError('diverged')
  return started
}

/**
 * The tree as it is now, and the last checkpoint that this key has signed. Throws `log_stopped` unless
 * this process may sign the next one: its tree extends that of the last one.
 */
async function readContinuous(
  { store }: LogContext,
  signer: LogSigner,
  epoch: number,
): Promise<{ log: LogEpoch; tree: TreeHead; signed?: TreeHead & { note: string } }> {
  const before = await store.log.epoch(epoch)
  if (before === undefined) throw logError('diverged')
  const key = formatVerifierKey(await logVerifierKey(before.origin, signer))
  if (key !== before.verifierKey) throw logError('other_key')
  const note = signer.lastSigned(before.origin)
  // Again, because another process with the key may just have appended and signed.
  const log = note === undefined ? before : ((await store.log.epoch(epoch)) ?? before)
  const read = createNodeReader(store.log, epoch, log.size)
  const tree = { size: log.size, root: await treeRoot(log.size, read, sha256) }
  if (note === undefined) {
    if (before.checkpoint !== undefined) throw logError('checkpoints_missing')
    return { log, tree }
  }
  const signed = { ...readCheckpoint(note), note }
  if (signed.size < before.checkpointSize) throw logError('other_signer')
  await requireExtension({ store }, log, signed, tree)
  return { log, tree, signed }
}

/**
 * Throws `log_stopped` unless the tree extends that of a checkpoint, such as the last signed one or
 * one that a witness has.
 */
export async function requireExtension(
  { store }: Pick<LogContext, 'store'>,
  { epoch }: Pick<LogEpoch, 'epoch'>,
  older: TreeHead,
  newer: TreeHead,
): Promise<void> {
  if (older.size > newer.size) throw logError('diverged')
  const read = createNodeReader(store.log, epoch, newer.size)
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
): Promise<LogEpoch & { isPartial: boolean }> {
  const { clock } = context
  const origin = { actor: { name: 'pubring serve' }, requestId: newId(), time: now(clock) }
  const current =
    (await readGrowing(context, signer)) ?? (await startEpoch(context, signer, origin, undefined))
  const { log, signed } = await readContinuous(context, signer, current.epoch)
  if (signed !== undefined) {
    await context.witnesses?.confirm(submissionOf(context, signer, log, signed))
  }
  const isPartial = await appendMovedHeads(context, signer, log, limits)
  let published = await publish(context, signer, log.epoch)
  // Another process that has the key file was storing or publishing a checkpoint.
  for (let tries = 1; published.checkpointSize < published.size && tries < maxTries; tries += 1) {
    await delay(retryMs)
    published = await publish(context, signer, log.epoch)
  }
  return { ...published, isPartial }
}

function submissionOf(
  { store }: LogContext,
  signer: LogSigner,
  { epoch, origin }: LogEpoch,
  { note, size }: { note: string; size: number },
): Submission {
  const read = createNodeReader(store.log, epoch, size)
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
 * The checkpoint is stored beside the key before anyone else can see it, and the witnesses see it
 * before it is published. One that was stored and not published, because the process ended in between
 * or a witness contradicted, is published now; one that lacks cosignatures, with those.
 */
async function publish(context: LogContext, signer: LogSigner, epoch: number): Promise<LogEpoch> {
  const { log, tree, signed } = await readContinuous(context, signer, epoch)
  const { origin, checkpoint, checkpointSize } = log
  const { size } = tree
  const published = checkpointSize === size ? checkpoint : undefined
  const isSigned = signed?.size === size
  const note = published ?? (isSigned ? signed.note : await signTree(signer, origin, tree))
  if (!isSigned && !signer.record(origin, note)) return log
  const submission = submissionOf(context, signer, log, { note, size })
  const cosigned = (await context.witnesses?.cosign(submission)) ?? note
  if (cosigned === published) return log
  await context.store.commit({ type: 'log.publish', epoch, size, checkpoint: cosigned })
  return { ...log, checkpoint: cosigned, checkpointSize: size }
}

async function signTree(signer: LogSigner, origin: string, tree: TreeHead): Promise<string> {
  const text = formatCheckpoint({ origin, ...tree })
  const key = await logVerifierKey(origin, signer)
  return formatNote(text, [await signNote(text, key, signer.sign)])
}
