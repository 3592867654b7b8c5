import { Alert, Text } from '@mantine/core'
import { LogError } from '@pubring/client/log'
import { IconShieldCheck, IconShieldX } from '@tabler/icons-react'
import { localTime } from '../components/times.tsx'
import type { VerifiedLedger } from './proof.ts'

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

/** The result in words, with what it does not show. */
export function VerificationResult(props: { verification: Verification; ledger: string }) {
  const { verification, ledger } = props
  if (verification.result === 'verified') return <Verified {...verification} ledger={ledger} />
  if (verification.result === 'impossible') {
    return (
      <Alert color="yellow" icon={<IconShieldX />} title="This page cannot verify" role="alert">
        Browsers hash and verify only on https pages. Open the console over https, or export the
        history and verify it with <span className="mono">pubring ledger verify</span>.
      </Alert>
    )
  }
  const { error } = verification
  const title = error instanceof LogError ? titles[error.code] : 'Not verified'
  return (
    <Alert color="red" icon={<IconShieldX />} title={title} role="alert">
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
        {error instanceof Error ? error.message : String(error)}
        {isUnsupported(error) && ' This browser does not support Ed25519: use a newer one.'}
      </Text>
    </Alert>
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
    <Alert
      color="teal"
      icon={<IconShieldCheck />}
      title={`Verified: events 1 to ${last.revision} of ${ledger}`}
      role="alert"
    >
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
        The hash chain is whole: no event is missing, altered or moved. The log{' '}
        <span className="mono">{checkpoint.origin}</span> has event {revision} since{' '}
        {localTime(time)}: entry {proof.index} of {checkpoint.size}.
        {last.revision > revision &&
          ` The events after ${revision} are chained to it, but not in the log yet.`}
      </Text>
      <Text size="sm" mt="xs" style={{ overflowWrap: 'anywhere' }}>
        The checkpoint is signed by the log key <span className="mono">{verifierKey}</span>
        {isEntered
          ? ', which you entered.'
          : ', which this server named. Enter the one that you have from the operator to be independent of the server.'}
      </Text>
      <Text size="sm" mt="xs">
        Not proven: that the events were right, and that others are shown the same log. This page
        comes from the server, too: to depend on neither, export the history with proof, and verify
        it on another machine with{' '}
        <span className="mono">
          pubring ledger verify --file FILE.jsonl --proof FILE.tlog-proof --log-key KEY
        </span>
        .
      </Text>
    </Alert>
  )
}
