import { Alert, Anchor, Card, Stack, Text } from '@mantine/core'
import type { TokenCheck, TokenCheckOutcome } from '@pubring/client'
import { IconAlertTriangle, IconCircleCheck, IconEqualNot, IconShieldX } from '@tabler/icons-react'
import { Link } from 'wouter'
import { CheckSteps } from '../../components/check-step.tsx'
import { UserText } from '../../components/user-text.tsx'
import { advice, steps } from './advice.ts'

/** The result of a token check with each of its steps. */
export function Report({ report, projectId }: { report: TokenCheck; projectId: string }) {
  const names: [string, string][] = Object.entries(steps)
  return (
    <Card withBorder padding="lg">
      <Stack>
        <Summary report={report} />
        {report.key !== undefined && <KeyLine jwtKey={report.key} projectId={projectId} />}
        <CheckSteps names={names} results={report.steps} />
      </Stack>
    </Card>
  )
}

/** Green is only what was compared; a claim that the token does not have is nothing to compare. */
const verdicts = {
  valid: { color: 'teal', Icon: IconCircleCheck, title: 'This token is valid' },
  warned: {
    color: 'yellow',
    Icon: IconAlertTriangle,
    title: 'No check failed, but some verifiers may reject this token',
  },
  incomplete: {
    color: 'gray',
    Icon: IconEqualNot,
    title: 'No check failed, but not everything was compared',
  },
  rejected: { color: 'red', Icon: IconShieldX, title: 'This token is rejected' },
}

function stepsWith({ steps: results }: TokenCheck, outcome: TokenCheckOutcome): string[] {
  return results.filter((each) => each.outcome === outcome).map(({ step }) => step)
}

/** Claims of which the absence is not a gap: the check of their value has nothing to do. */
const optionalClaims = ['nbf']

function verdictOf(report: TokenCheck): keyof typeof verdicts {
  if (!report.valid) return 'rejected'
  const skipped = stepsWith(report, 'skipped').filter((step) => !optionalClaims.includes(step))
  if (skipped.length > 0) return 'incomplete'
  return stepsWith(report, 'warned').length > 0 ? 'warned' : 'valid'
}

function Summary({ report }: { report: TokenCheck }) {
  const { valid, reason } = report
  const failure = reason && advice[reason]
  const verdict = verdictOf(report)
  const { color, Icon, title } = verdicts[verdict]
  return (
    <Alert
      color={color}
      icon={<Icon />}
      title={failure?.title ?? title}
      role="status"
      data-verdict={verdict}
    >
      {valid ? validSummary(report) : (failure?.action ?? 'See the failed step.')}
      {reason !== undefined && (
        <Text size="xs" className="mono" mt={6}>
          {reason}
        </Text>
      )}
    </Alert>
  )
}

/** Says what the verdict does not cover. */
function validSummary(report: TokenCheck): string {
  const warned = stepsWith(report, 'warned').join(', ')
  const skipped = stepsWith(report, 'skipped')
  return [
    warned === '' && skipped.length === 0 ? 'All checks passed.' : 'No check failed.',
    warned === '' ? '' : `Some verifiers may reject it: see the warnings (${warned}).`,
    skipped.length === 0 ? '' : `Not compared: ${skipped.join(', ')}.`,
    skipped.includes('aud') ? 'Enter the audience of your service to compare it.' : '',
  ]
    .filter((sentence) => sentence !== '')
    .join(' ')
}

function KeyLine(props: { jwtKey: NonNullable<TokenCheck['key']>; projectId: string }) {
  const { label, jwsAlgorithm, active } = props.jwtKey
  return (
    <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
      Key:{' '}
      <Anchor component={Link} href={`/projects/${props.projectId}/keys`} underline="always">
        <UserText>{label}</UserText>
      </Anchor>{' '}
      ({jwsAlgorithm}, {active ? 'active' : 'inactive'})
    </Text>
  )
}
