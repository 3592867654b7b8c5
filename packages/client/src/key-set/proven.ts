import {
  parseLedgerProof,
  parseVerifierKey,
  type TrustedKeys,
  type VerifiedCheckpoint,
  verifyLedgerProof,
} from '../log/index.ts'
import { equalBytes } from '../log/tree.ts'
import { createDeadline } from '../transport/deadline.ts'
import { readText } from '../transport/text-chunks.ts'
import { KeySetError } from './errors.ts'
import type { KeySetOptions } from './options.ts'

/** The head of the project that the log has shown last. */
type Proven = { revision: number; head: string; checkpoint: VerifiedCheckpoint }

/** Compares key sets with what the log has of their project. */
export type ProvenRevisions = {
  /** The latest one; undefined before the first proof. */
  latest(): number | undefined
  /**
   * Throws `key_set_disproved` if the revision of a key set is older than what the log has, or
   * missing, or if the log contradicts itself. Fetches a proof while the log has not shown the
   * revision; without a valid one, nothing more is known than before.
   */
  check(revision: number | undefined, signal: AbortSignal | undefined): Promise<void>
}

type Options = Required<Pick<KeySetOptions, 'fetch' | 'timeout' | 'log'>> & { url: string }

/** A longer response, in characters, is ignored. Proofs have 64 hashes and some signatures at most. */
const maxProofLength = 64 * 1024

/** Throws `invalid_option` if the address has no project id: proofs are of ids, not of names. */
export function createProvenRevisions({ url, fetch, timeout, log }: Options): ProvenRevisions {
  const [, project, id = ''] = /^(.*\/projects\/([0-9a-f-]{36}))\/\.well-known\//.exec(url) ?? []
  if (project === undefined) throw invalidLog('The address must have the id of the project.')
  const trusted = readKeys(log)
  // Each use awaits it.
  trusted.catch(() => {})
  let proven: Proven | undefined

  async function fetchProof(signal: AbortSignal | undefined): Promise<Proven> {
    const deadline = createDeadline(timeout, signal)
    try {
      const response = await fetch(`${project}/.well-known/ledger-proof`, {
        signal: deadline.signal,
        redirect: 'manual',
        credentials: 'omit',
      })
      const { head, ...proof } = parseLedgerProof((await readText(response, maxProofLength)) ?? '')
      // With the id from the address, a proof of another project is not valid.
      const checkpoint = await verifyLedgerProof(
        { ...proof, head: { ...head, ledgerId: id } },
        await trusted,
      )
      return { revision: head.revision, head: head.head, checkpoint }
    } finally {
      deadline.clear()
    }
  }
  function requireCurrent(revision: number): void {
    if (revision < (proven?.revision ?? 0)) throw outdated(revision, proven?.revision)
  }
  return {
    latest: () => proven?.revision,
    async check(revision, signal) {
      await trusted
      if (revision === undefined) throw withoutRevision()
      requireCurrent(revision)
      if (revision === proven?.revision) return
      const next = await fetchProof(signal).catch(() => undefined)
      if (next === undefined) return
      if (proven !== undefined) requireSameHistory(proven, next)
      if (next.revision >= (proven?.revision ?? 0)) proven = next
      requireCurrent(revision)
    },
  }
}

async function readKeys({ key, witnesses = [], quorum }: Options['log']): Promise<TrustedKeys> {
  try {
    return {
      log: await parseVerifierKey(key),
      witnesses: await Promise.all(witnesses.map(parseVerifierKey)),
      ...(quorum === undefined ? {} : { quorum }),
    }
  } catch (cause) {
    throw invalidLog(cause instanceof Error ? cause.message : '', cause)
  }
}

function requireSameHistory(before: Proven, next: Proven): void {
  const [one, other] = [before.checkpoint, next.checkpoint]
  if (before.revision === next.revision && before.head !== next.head) {
    throw disproved(`it has two hashes for event ${next.revision}: ${before.head} and ${next.head}`)
  }
  if (one.size === other.size && !equalBytes(one.root, other.root)) {
    throw disproved(`it has two checkpoints with ${one.size} entries`)
  }
}

function invalidLog(reason: string, cause?: unknown): KeySetError {
  return new KeySetError('invalid_option', `log cannot be used. ${reason}`, { cause })
}

function disproved(reason: string): KeySetError {
  return new KeySetError('key_set_disproved', `The log contradicts itself: ${reason}.`)
}

function outdated(revision: number, proven = 0): KeySetError {
  return new KeySetError(
    'key_set_disproved',
    `The key set is of revision ${revision}, and the log has revision ${proven} of the project. It is not used: keys may have been deactivated since.`,
  )
}

function withoutRevision(): KeySetError {
  return new KeySetError(
    'key_set_disproved',
    'The response does not tell the revision of the key set (Pubring-Revision), so that it cannot be compared with the log. Does a proxy remove the header?',
  )
}
