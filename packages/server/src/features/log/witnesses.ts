import {
  formatConsistency,
  parseCheckpoint,
  parseWholeNumber,
} from '@pubring/client/internal/log/checkpoint'
import type { Bytes } from '@pubring/client/internal/log/encoding'
import { parseNote, verifyNote } from '@pubring/client/internal/log/note'
import type { Witness } from '../../kernel/context.ts'
import type { OutboundFetch } from '../../outbound/outbound.ts'
import { isSignedSince, replaceLines } from './dating.ts'
import { logError } from './faults.ts'

/** The outcome of a checkpoint at one witness; a reason continues a sentence about the witness. */
export type WitnessResult = { name: string } & (
  | { outcome: 'cosigned'; line: string }
  /** It is away, or refuses. */
  | { outcome: 'failed'; reason: string }
  /** It has cosigned a tree that the log's does not extend: to sign on would be a fork. */
  | { outcome: 'contradicted'; reason: string }
)

/** A signed checkpoint. */
export interface Submission {
  note: string
  /** Makes the consistency proof from an older size to that of the checkpoint. */
  proofFrom(oldSize: number): Promise<Bytes[]>
  /** Size of the last checkpoint that any process with this key has signed. */
  signedSize(): number
}

export type Witnesses = ReturnType<typeof createWitnesses>

/** Requests per witness and checkpoint: the first one may only tell which size the witness knows. */
const maxAttempts = 3

/** `confirm` and `cosign` wait for every witness that they ask, and throw `log_stopped` if one contradicts. */
export function createWitnesses(witnesses: readonly Witness[], fetch: OutboundFetch) {
  /** The size that each witness has told this process, of the log that it was asked about last. */
  const known = new Map<Witness, { origin: string; size: number }>()
  const results = new Map<Witness, WitnessResult>()

  const hasConfirmed = (witness: Witness, origin: string) =>
    known.get(witness)?.origin === origin && results.get(witness)?.outcome !== 'contradicted'

  async function ask(some: readonly Witness[], submission: Submission) {
    const answers = await Promise.all(
      some.map(async (witness) => {
        const result = await submit(witness, submission).catch((error: unknown) =>
          failed(witness, error instanceof Error ? error.message : String(error)),
        )
        results.set(witness, result)
        return result
      }),
    )
    if (answers.some(({ outcome }) => outcome === 'contradicted')) throw logError('contradicted')
    return answers.flatMap((answer) => (answer.outcome === 'cosigned' ? [answer.line] : []))
  }
  async function submit(
    witness: Witness,
    { note, proofFrom, signedSize }: Submission,
  ): Promise<WitnessResult> {
    const { text } = parseNote(note)
    const { origin, size } = parseCheckpoint(text)
    for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
      const last = known.get(witness)
      const oldSize = last?.origin === origin ? last.size : 0
      if (oldSize > size) {
        if (oldSize <= signedSize()) return failed(witness, 'it has a later checkpoint already')
        known.delete(witness)
        const reason = `it has cosigned a tree of ${oldSize} entries, and this one has ${size}`
        return contradicted(witness, reason)
      }
      const hashes = await proofFrom(oldSize)
      const body = formatConsistency({ oldSize, hashes, checkpoint: note })
      const response = await fetch(`${witness.url}/add-checkpoint`, { method: 'POST', body })
      const answer = await response.text()
      if (response.status === 200) {
        const [cosignature] = await verifyNote(parseNote(`${text}\n${answer}`), [witness.key])
        known.set(witness, { origin, size })
        return { name: witness.key.name, outcome: 'cosigned', line: cosignature?.line ?? '' }
      }
      if (response.status === 422 && oldSize > 0) {
        const reason = `the tree does not extend the one of ${oldSize} entries that it has cosigned`
        return contradicted(witness, reason)
      }
      if (response.status !== 409) return failed(witness, refusal(response.status, answer))
      known.set(witness, { origin, size: parseWholeNumber(answer.trimEnd()) })
    }
    return failed(witness, 'it names another size at each request')
  }
  return {
    /** Compares a signed checkpoint with what the witnesses know, unless they have confirmed one. */
    async confirm(submission: Submission): Promise<void> {
      const { origin } = parseCheckpoint(parseNote(submission.note).text)
      const some = witnesses.filter((witness) => !hasConfirmed(witness, origin))
      await ask(some, submission)
    },
    /**
     * Returns the note with the cosignatures of the witnesses that were there; those whose last one is older
     * than `since`, in seconds, are asked.
     */
    async cosign(submission: Submission, since: number): Promise<string> {
      const { text, signatures } = parseNote(submission.note)
      const late = witnesses.filter(({ key }) => !isSignedSince(signatures, key, since))
      return replaceLines(text, signatures, await ask(late, submission))
    },
    /** The last result of each witness that was asked. */
    results: (): readonly WitnessResult[] =>
      witnesses.flatMap((witness) => results.get(witness) ?? []),
  }
}

function failed({ key: { name } }: Witness, reason: string): WitnessResult {
  return { name, outcome: 'failed', reason }
}

function contradicted({ key: { name } }: Witness, reason: string): WitnessResult {
  return { name, outcome: 'contradicted', reason }
}

function refusal(status: number, answer: string): string {
  const isUnknown = status === 403 || status === 404
  const hint = isUnknown ? '; has its operator added the key that `pubring log key` prints?' : ''
  return `it responded with the status ${status} (${answer.trim().slice(0, 100)})${hint}`
}
