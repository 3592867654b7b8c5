import { KeySetError } from './errors.ts'

/** The last event of the project that a key set accounts for, as `Pubring-Revision` names it. */
export type Head = {
  revision: number
  /** The first 8 characters of the event's hash. */
  hashStart: string | undefined
}

/** Parses `REVISION.HASH8`; undefined if it is something else. */
export function parseHead(text: string): Head | undefined {
  const [, revision, hashStart] = /^(\d{1,15})(?:\.([0-9a-f]{8}))?$/.exec(text) ?? []
  return revision === undefined ? undefined : { revision: Number(revision), hashStart }
}

export function formatHead({ revision, hashStart }: Head): string {
  return hashStart === undefined ? String(revision) : `${revision}.${hashStart}`
}

/**
 * Whether the head is of another history than the known one, or of an earlier point of the same. A
 * later revision is not: nothing in it tells which events it follows.
 */
export function goesBack(known: Head | undefined, head: Head | undefined): boolean {
  if (known === undefined || head === undefined) return false
  if (head.revision !== known.revision) return head.revision < known.revision
  const hashes = [head.hashStart, known.hashStart]
  return !hashes.includes(undefined) && hashes[0] !== hashes[1]
}

/** How long a replica that is behind another one may take to catch up, and `Age` rounds off. */
export const maxReplicaLagMs = 2_000

/**
 * Whether a response may be from before the known head was confirmed, as by a cache. One without `Age` is
 * the server's own, and so is one that is recent enough: caches add `Age: 0` to responses that they pass on.
 */
export function mayBeEarlier(age: number | undefined, sinceConfirmedMs: number): boolean {
  return age !== undefined && age * 1_000 >= sinceConfirmedMs - maxReplicaLagMs
}

/** `advice` says what to do. */
export function historyChanged(known: Head, head: Head, advice: string): KeySetError {
  const [before, now] = [formatHead(known), formatHead(head)]
  return new KeySetError(
    'key_set_history_changed',
    `The key set of ${before} is kept: the server now has ${now}, so it has lost events, as by the restore of a backup, and keys that were deactivated may be active again. ${advice}`,
  )
}
