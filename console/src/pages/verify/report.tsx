import { Alert, Anchor, Card, Group, Stack, Text, ThemeIcon } from '@mantine/core'
import { IconCheck, IconCircleCheck, IconMinus, IconShieldX, IconX } from '@tabler/icons-react'
import { Link } from 'wouter'
import type { TokenCheck } from '../../../../client/src/index.ts'
import { advice, steps } from './advice.ts'

/** The result of a token check with each of its steps. */
export function Report({ report, projectId }: { report: TokenCheck; projectId: string }) {
  const names: [string, string][] = Object.entries(steps)
  return (
    <Card withBorder padding="lg">
      <Stack>
        <Summary report={report} />
        {report.key !== undefined && <KeyLine jwtKey={report.key} projectId={projectId} />}
        <Stack component="ol" gap="sm" p={0} m={0} style={{ listStyle: 'none' }}>
          {names.map(([name, label]) => {
            const step = report.steps.find((each) => each.step === name)
            return <Step key={name} label={label} ok={step?.ok} detail={step?.detail} />
          })}
        </Stack>
      </Stack>
    </Card>
  )
}

function Summary({ report: { valid, reason } }: { report: TokenCheck }) {
  const failure = reason && advice[reason]
  return (
    <Alert
      color={valid ? 'teal' : 'red'}
      icon={valid ? <IconCircleCheck /> : <IconShieldX />}
      title={valid ? 'This token is valid' : (failure?.title ?? 'This token is rejected')}
      role="status"
    >
      {valid ? 'All checks passed.' : (failure?.action ?? 'See the failed step.')}
      {reason !== undefined && (
        <Text size="xs" className="mono" mt={6}>
          {reason}
        </Text>
      )}
    </Alert>
  )
}

function KeyLine(props: { jwtKey: NonNullable<TokenCheck['key']>; projectId: string }) {
  const { label, jwsAlgorithm, active } = props.jwtKey
  return (
    <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
      Key:{' '}
      <Anchor component={Link} href={`/projects/${props.projectId}/keys`} underline="always">
        {label}
      </Anchor>{' '}
      ({jwsAlgorithm}, {active ? 'active' : 'inactive'})
    </Text>
  )
}

function Step(props: { label: string; ok: boolean | undefined; detail: string | undefined }) {
  const { label, ok, detail } = props
  const Icon = ok === undefined ? IconMinus : ok ? IconCheck : IconX
  const outcome = ok === undefined ? 'not reached' : ok ? 'passed' : 'failed'
  const reached = ok !== undefined
  return (
    <Group component="li" wrap="nowrap" align="flex-start" gap="sm" data-step={outcome}>
      <ThemeIcon
        size={22}
        radius="xl"
        variant={ok === false ? 'filled' : 'light'}
        color={reached ? (ok ? 'teal' : 'red.8') : 'gray'}
        role="img"
        aria-label={outcome}
      >
        <Icon size={14} />
      </ThemeIcon>
      <div>
        <Text size="sm" fw={reached ? 600 : 400} {...(reached ? {} : { c: 'dimmed' })}>
          {label}
        </Text>
        {detail !== undefined && (
          <Text size="sm" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
            {detail}
          </Text>
        )}
      </div>
    </Group>
  )
}
