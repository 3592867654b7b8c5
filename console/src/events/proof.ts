import type { Client, Project } from '@pubring/client'
import {
  type ChainPosition,
  type ExportedEvent,
  type LedgerProof,
  LogError,
  parseLedgerProof,
  parseVerifierKey,
  type VerifiedCheckpoint,
  verifyChain,
  verifyLedgerProof,
} from '@pubring/client/log'

/** Events between two calls of `onProgress`. */
const progressStep = 200

const systemLedgerId = '00000000-0000-0000-0000-000000000000'

/** A ledger to read: that of a project, or the system's without `project`. */
export type LedgerSource = {
  client: Client
  project: Project | undefined
  signal: AbortSignal
  /** Receives the number of events read so far, every `progressStep` events and at the end. */
  onProgress(events: number): void
}

/** The verified facts about a ledger. */
export type VerifiedLedger = {
  proof: LedgerProof
  checkpoint: VerifiedCheckpoint
  /** The last event of the ledger. */
  last: ChainPosition
}

/** The files that `pubring ledger export` writes. */
type LedgerExport = { name: string; lines: string[]; proof: string }

/** Whether the page can hash and verify: browsers offer Web Crypto on https and loopback only. */
export const canVerify = (): boolean => globalThis.crypto?.subtle !== undefined

/** The proof of the last event that the log has. */
export function readProof({ client, project, signal }: Omit<LedgerSource, 'onProgress'>) {
  return client.log.prove({ signal, ...(project && { project: project.id }) })
}

/**
 * Reads all events and verifies their hash chain, and with the verifier key that the log has the last
 * one of the proof. Throws `LogError`, or `PubringError` if something cannot be read.
 */
export async function verifyLedger(
  source: LedgerSource,
  verifierKey: string,
): Promise<VerifiedLedger> {
  const log = await parseVerifierKey(verifierKey)
  const proof = parseLedgerProof((await readProof(source)).proof)
  const ledgerId = source.project?.id ?? systemLedgerId
  if (proof.head.ledgerId !== ledgerId) {
    const message = `The proof is of the ledger ${proof.head.ledgerId}, not of ${ledgerId}.`
    throw new LogError('disproved', message)
  }
  const checkpoint = await verifyLedgerProof(proof, { log })
  return { proof, checkpoint, last: await verifyChain(proof.head, readEvents(source, ledgerId)) }
}

/** The proof is read first, so that the events reach the one that it is of. */
export async function exportLedger(source: LedgerSource): Promise<LedgerExport> {
  const { ledgerId, proof } = await readProof(source)
  const lines: string[] = []
  for await (const event of readEvents(source, ledgerId)) lines.push(`${JSON.stringify(event)}\n`)
  return { name: source.project?.name ?? 'system', lines, proof }
}

/** All events from the first, as an export has them. */
async function* readEvents(
  { client, project, signal, onProgress }: LedgerSource,
  ledgerId: string,
): AsyncGenerator<ExportedEvent> {
  let last = 0
  for await (const event of client.events.all({
    signal,
    ...(project && { project: project.id }),
  })) {
    yield { ledgerId, ...event }
    last = event.revision
    if (last % progressStep === 0) onProgress(last)
  }
  onProgress(last)
}
