import { Card, Stack, Table, Text } from '@mantine/core'
import type {
  Client,
  TokenCheck,
  TokenCheckOutcome,
  TokenCheckReason,
  TokenCheckStep,
} from '@pubring/client'
import { useState } from 'react'
import { CheckSteps, JsonView } from '../../components/check-step.tsx'
import { Notice } from '../../components/states.tsx'
import { localTime, relativeTime, TextLink, UserText, useNow } from '../../components/text.tsx'
import { type Guarded, TextArea } from '../../forms/text-fields.tsx'

/**
 * The check of a token of a project, for the form that sends it, with further members of the request. The
 * report is of what is entered now.
 */
export function useTokenCheck(projectId: string, token: string, sent: object = {}) {
  const [checked, setChecked] = useState<{ input: string; report: TokenCheck }>()
  const input = JSON.stringify([token, sent])
  const check = {
    send: (client: Client) => client.tokens.check(projectId, { token: token.trim(), ...sent }),
    onSent: (report: TokenCheck) => setChecked({ input, report }),
  }
  return { check, report: checked?.input === input ? checked.report : undefined }
}

/** The field for a token, which no draft keeps: it is a secret. */
export const TokenField = (props: Guarded & { description: string; rows: number }) => (
  <TextArea label="Token" placeholder="eyJhbGciOi…" classNames={{ input: 'mono' }} {...props} />
)

type Proof = { title: string; text: string }

/** The result of a token check with each of its steps. Without `projectId`, the key has no page. */
export function Report(props: { report: TokenCheck; projectId?: string; proof?: Proof }) {
  const { report, projectId, proof } = props
  const names: [string, string][] = Object.entries(steps)
  return (
    <Card withBorder padding="lg" mt={proof ? 'md' : 0}>
      <Stack>
        <Summary report={report} proof={proof} ofProject={projectId !== undefined} />
        {projectId !== undefined && <KeyLine report={report} projectId={projectId} />}
        <CheckSteps names={names} results={report.steps} />
      </Stack>
    </Card>
  )
}

/** Green is only what was compared; a claim that the token does not have is nothing to compare. */
const verdicts = {
  valid: { tone: 'good', title: 'This token is valid' },
  warned: { tone: 'warning', title: 'No check failed, but some verifiers may reject this token' },
  incomplete: {
    tone: 'info',
    color: 'gray',
    title: 'No check failed, but not everything was compared',
  },
  compromised: {
    tone: 'bad',
    title: 'Verifiers accept this token, but its key is compromised',
  },
  rejected: { tone: 'bad', title: 'This token is rejected' },
} as const

const stepsWith = ({ steps: results }: TokenCheck, outcome: TokenCheckOutcome): string[] =>
  results.filter((each) => each.outcome === outcome).map(({ step }) => step)

/** Claims of which the absence is not a gap: the check of their value has nothing to do. */
const optionalClaims = ['nbf']

function verdictOf(report: TokenCheck): keyof typeof verdicts {
  if (!report.valid) return 'rejected'
  // This step warns of nothing else if the key is active.
  if (report.key?.active && stepsWith(report, 'warned').includes('key_active')) return 'compromised'
  const skipped = stepsWith(report, 'skipped').filter((step) => !optionalClaims.includes(step))
  if (skipped.length > 0) return 'incomplete'
  return stepsWith(report, 'warned').length > 0 ? 'warned' : 'valid'
}

type SummaryProps = { report: TokenCheck; proof: Proof | undefined; ofProject: boolean }

function Summary({ report, proof, ofProject }: SummaryProps) {
  const { valid, reason } = report
  const failure = reason && advice[reason]
  const found = verdictOf(report)
  const proven = valid && found !== 'compromised' ? proof : undefined
  const verdict = proven ? 'valid' : found
  const { title, ...look } = { ...verdicts[verdict], ...(proven && { title: proven.title }) }
  return (
    <Notice {...look} title={failure?.title ?? title} role="status" data-verdict={verdict}>
      {valid ? (proven?.text ?? validSummary(report)) : (failure?.action ?? 'See the failed step.')}{' '}
      {ofProject && failure?.more}
      {reason !== undefined && (
        <Text size="xs" className="mono" mt={6}>
          {reason}
        </Text>
      )}
    </Notice>
  )
}

function validSummary(report: TokenCheck): string {
  const isCompromised = verdictOf(report) === 'compromised'
  const warned = stepsWith(report, 'warned')
    .filter((step) => !(isCompromised && step === 'key_active'))
    .join(', ')
  const skipped = stepsWith(report, 'skipped')
  return [
    isCompromised ? 'Others can sign such tokens: replace the key, and revoke it.' : '',
    warned === '' && skipped.length === 0 ? 'All checks passed.' : 'No check failed.',
    warned === '' ? '' : `Some verifiers may reject it: see the warnings (${warned}).`,
    skipped.length === 0 ? '' : `Not compared: ${skipped.join(', ')}.`,
    skipped.includes('aud') ? 'Enter the audience of your service to compare it.' : '',
  ]
    .filter((sentence) => sentence !== '')
    .join(' ')
}

function KeyLine({ report, projectId }: { report: TokenCheck; projectId: string }) {
  const { key } = report
  if (key === undefined) return null
  const { id, label, jwsAlgorithm, active } = key
  const state = verdictOf(report) === 'compromised' ? 'compromised' : active ? 'active' : 'inactive'
  return (
    <Text>
      Key:{' '}
      <TextLink href={`/projects/${projectId}/keys/${id}`}>
        <UserText>{label}</UserText>
      </TextLink>{' '}
      ({jwsAlgorithm}, {state})
    </Text>
  )
}

const steps: Record<TokenCheckStep, string> = {
  well_formed: 'The token is a JWT',
  kid_present: 'The token has a kid',
  kid_known: 'The key belongs to this project',
  key_active: 'The key is active',
  algorithm: 'The algorithm is the key’s',
  signature: 'The signature is valid',
  exp: 'The token has not expired (exp)',
  nbf: 'The token is already valid (nbf)',
  iss: 'The issuer is the expected one (iss)',
  aud: 'The audience is the expected one (aud)',
}

/** `more` is for those who see the pages of the project. */
const advice: Record<TokenCheckReason, { title: string; action: string; more?: string }> = {
  malformed_token: {
    title: 'This is not a complete JWT',
    action: 'Copy the whole token and nothing else. The failed step says what is wrong.',
  },
  kid_missing: {
    title: 'The token has no kid',
    action:
      'Have the signer set the kid of its key in the header of every token: verifiers use it to find the key.',
  },
  kid_unknown: {
    title: 'This project has no key with this kid',
    action:
      'Have the signer use the kid that Pubring shows for its key. The failed step says what this kid is, and which key the signature fits.',
  },
  key_inactive: {
    title: 'The key is inactive or has expired',
    action: 'Have the signer use an active key.',
    more: 'The page of the key says who ended it and why, and activates it again unless it is compromised.',
  },
  algorithm_mismatch: {
    title: 'The token was signed with another algorithm than its key’s',
    action:
      'Have the signer use the algorithm that the key was registered with. To change it, register a new key.',
  },
  signature_invalid: {
    title: 'The signature is invalid',
    action:
      'The token was modified, or signed with another private key than the one its kid names. Compare the signer’s public key with the registered one.',
  },
  token_expired: {
    title: 'The token has expired',
    action:
      'Get a new token. If it should still be valid, compare the signer’s clock with this one.',
  },
  token_not_yet_valid: {
    title: 'The token is not valid yet',
    action: 'Wait, or compare the signer’s clock with this one: a difference of seconds is enough.',
  },
  issuer_mismatch: {
    title: 'The token has another issuer',
    action: 'Have the signer set iss to exactly the expected issuer.',
    more: 'If your verifiers expect another one, enter it above.',
  },
  audience_mismatch: {
    title: 'The token is for another audience',
    action: 'Get a token with the expected aud.',
    more: 'Or correct what you expect, above.',
  },
}

/** The time claims (RFC 7519 section 4.1), in seconds since the epoch. */
const timeClaims = [
  { claim: 'iat', label: 'Issued (iat)' },
  { claim: 'nbf', label: 'Valid from (nbf)' },
  { claim: 'exp', label: 'Expires (exp)' },
]

/** The maximum time of ECMAScript, in seconds. */
const maxTime = 8.64e12

export function TokenParts(props: {
  header: Record<string, unknown>
  claims: Record<string, unknown>
  verified: boolean
}) {
  const { header, claims, verified } = props
  return (
    <Card withBorder padding="lg">
      <Stack>
        <Text c="dimmed">
          {verified
            ? 'The signature is valid: these are the claims of the signer.'
            : 'Decoded in this browser. Nothing in it is verified.'}
        </Text>
        <JsonView title="Header" value={header} />
        <JsonView title="Claims" value={claims} />
        <TimeClaims claims={claims} />
      </Stack>
    </Card>
  )
}

function TimeClaims({ claims }: { claims: Record<string, unknown> }) {
  const now = useNow(1_000)
  const times = timeClaims.flatMap(({ claim, label }) => {
    const seconds = claims[claim]
    return typeof seconds === 'number' && Math.abs(seconds) < maxTime
      ? [{ label, time: seconds * 1_000 }]
      : []
  })
  if (times.length === 0) return null
  return (
    <Table
      aria-label="Times of the token"
      withRowBorders={false}
      data={{
        body: times.map(({ label, time }) => [label, localTime(time), relativeTime(time, now)]),
      }}
    />
  )
}
