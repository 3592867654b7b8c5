import { Text } from '@mantine/core'
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
import { messageOf } from '../components/outage.ts'
import { Notice } from '../components/states.tsx'
import { localTime } from '../components/text.tsx'

/** The result of a verification; `isEntered` if the key of the log was typed, not read from the server. */
export type Verification =
  | ({ result: 'verified'; verifierKey: string; isEntered: boolean } & VerifiedLedger)
  | { result: 'failed'; error: unknown }
  /** The page is not https, so the browser has no Web Crypto. */
  | { result: 'impossible' }

const titles = {
  malformed: 'Not verified: the log key or the proof cannot be read',
  untrusted: 'Not verified: the checkpoint is not signed by this log key',
  disproved: 'Broken: this history contradicts the log or itself',
}

export function VerificationResult(props: { verification: Verification; ledger: string }) {
  const { verification, ledger } = props
  if (verification.result === 'verified') return <Verified {...verification} ledger={ledger} />
  if (verification.result === 'impossible') {
    return (
      <Notice tone="warning" title="This page cannot verify" role="alert">
        Browsers hash and verify only on https pages. Open the console over https, or export the
        history and verify it with <span className="mono">pubring ledger verify</span>.
      </Notice>
    )
  }
  const { error } = verification
  const title = error instanceof LogError ? titles[error.code] : 'Not verified'
  return (
    <Notice tone="bad" title={title} role="alert">
      <Text>
        {messageOf(error)}
        {isUnsupported(error) && ' This browser does not support Ed25519: use a newer one.'}
      </Text>
    </Notice>
  )
}

const isUnsupported = (error: unknown): boolean =>
  error instanceof LogError &&
  error.cause instanceof DOMException &&
  error.cause.name === 'NotSupportedError'

function Verified(props: Extract<Verification, { result: 'verified' }> & { ledger: string }) {
  const { proof, checkpoint, last, verifierKey, isEntered, ledger } = props
  const { revision, time } = proof.head
  return (
    <Notice tone="good" title={`Verified: events 1 to ${last.revision} of ${ledger}`} role="alert">
      <Text>
        The hash chain is whole: no event is missing, altered or moved. The log{' '}
        <span className="mono">{checkpoint.origin}</span> has event {revision} since{' '}
        {localTime(time)}: entry {proof.index} of {checkpoint.size}.
        {last.revision > revision &&
          ` The events after ${revision} are chained to it, but not in the log yet.`}
      </Text>
      <Text mt="xs">
        The checkpoint is signed by the log key <span className="mono">{verifierKey}</span>
        {isEntered
          ? ', which you entered.'
          : ', which this server named. Enter the one that you have from the operator to be independent of the server.'}
      </Text>
      <Text mt="xs">
        Not proven: that the events were right, and that others are shown the same log. This page
        comes from the server, too: to depend on neither, export the history with proof, and verify
        it on another machine with{' '}
        <span className="mono">
          pubring ledger verify --file FILE.jsonl --proof FILE.tlog-proof --log-key KEY
        </span>
        .
      </Text>
    </Notice>
  )
}

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

type VerifiedLedger = {
  proof: LedgerProof
  checkpoint: VerifiedCheckpoint
  last: ChainPosition
}

/** Whether the page can hash and verify: browsers offer Web Crypto on https and loopback only. */
export const canVerify = (): boolean => globalThis.crypto?.subtle !== undefined

export const readProof = ({ client, project, signal }: Omit<LedgerSource, 'onProgress'>) =>
  client.log.prove({ signal, ...(project && { project: project.id }) })

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
export async function exportLedger(source: LedgerSource) {
  const { ledgerId, proof } = await readProof(source)
  const lines: string[] = []
  for await (const event of readEvents(source, ledgerId)) lines.push(`${JSON.stringify(event)}\n`)
  return { name: source.project?.name ?? 'system', lines, proof }
}

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
