import {
  datingKey,
  formatNote,
  type NoteSignature,
  parseNote,
  readTime,
  signNote,
  type VerifierKey,
} from '@pubring/client/internal/log/note'
import type { LogSigner } from '../../kernel/context.ts'

/**
 * Milliseconds after which a checkpoint is dated and cosigned again, also if the tree has not grown: by the
 * date, verifiers know that no later one is kept from them.
 */
const dateAfterMs = 50_000

/** The time, in seconds, before which a date is too old at `now`, in milliseconds. */
export function lateBefore(now: number): number {
  return Math.floor((now - dateAfterMs) / 1_000)
}

/** The note with the time, in milliseconds, unless it has one that is recent enough. */
export async function dateNote(
  note: string,
  log: VerifierKey,
  { sign }: LogSigner,
  now: number,
): Promise<string> {
  const { text, signatures } = parseNote(note)
  const key = await datingKey(log)
  if (isSignedSince(signatures, key, lateBefore(now))) return note
  return replaceLines(text, signatures, [await signNote(text, key, sign, Math.floor(now / 1_000))])
}

/** Whether the key has cosigned at this time, in seconds, or later. */
export function isSignedSince(
  signatures: readonly NoteSignature[],
  key: VerifierKey,
  since: number,
): boolean {
  const found = signatures.find(({ name, id }) => name === key.name && id === key.id)
  return found !== undefined && readTime(found.signature) >= since
}

/** The note with new lines, each in the place of an earlier one of the same key. */
export function replaceLines(
  text: string,
  signatures: readonly NoteSignature[],
  lines: readonly string[],
): string {
  const { signatures: all } = parseNote(
    formatNote(text, [...signatures.map(({ line }) => line), ...lines]),
  )
  const byKey = new Map(all.map(({ name, id, line }) => [`${name} ${id}`, line]))
  return formatNote(text, [...byKey.values()])
}
