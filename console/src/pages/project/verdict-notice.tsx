import { Alert, Button, Group, List, Loader, Stack, Text } from '@mantine/core'
import { IconAlertTriangle, IconCircleCheck, IconShieldX, IconTransform } from '@tabler/icons-react'
import type { KeyCheck } from '../../../../client/src/index.ts'
import { ErrorNotice } from '../../components/error-notice.tsx'
import type { KeyVerdict } from './verdict.ts'

/** The verdict on a key, and what to do about it. */
export function Verdict(props: { verdict: KeyVerdict; text: string; onText(text: string): void }) {
  const { verdict, text, onText } = props
  return (
    <Stack gap="xs" aria-live="polite">
      <Content verdict={verdict} text={text} onText={onText} />
    </Stack>
  )
}

function Content({ verdict, text, onText }: Parameters<typeof Verdict>[0]) {
  const { secret, pending, check, conversion, error } = verdict
  if (secret) return <SecretNotice onClear={() => onText('')} />
  if (text.trim() === '') return null
  if (conversion !== undefined) {
    return (
      <Alert color="petrol" icon={<IconTransform />} title={`This is a ${conversion.from}`}>
        <Text size="sm">
          The registry takes public keys alone. Its key can be taken out here in your browser.
        </Text>
        <Button size="xs" mt="sm" onClick={() => onText(conversion.pem)}>
          Take its public key
        </Button>
      </Alert>
    )
  }
  if (error !== undefined) {
    const local = error instanceof Error && error.name === 'Error'
    if (!local) return <ErrorNotice error={error} />
    return <Faults faults={[{ code: 'not_converted', detail: error.message }]} />
  }
  if (pending || check === undefined) {
    return (
      <Group gap="xs">
        <Loader size="xs" />
        <Text size="sm" c="dimmed">
          Checking…
        </Text>
      </Group>
    )
  }
  return check.accepted ? (
    <Accepted check={check} />
  ) : (
    <Faults faults={check.faults} check={check} />
  )
}

function SecretNotice({ onClear }: { onClear(): void }) {
  return (
    <Alert
      color="red"
      icon={<IconShieldX />}
      title="This is a secret: it was not sent anywhere"
      role="alert"
    >
      <Text size="sm">
        It looks like a private key or an API key. Pubring never wants one; register the public
        half: <span className="mono">openssl pkey -in private.pem -pubout</span>. If this text went
        through a chat, a ticket or a shared clipboard, treat the key as burnt: make a new pair.
      </Text>
      <Button size="xs" color="red.8" mt="sm" onClick={onClear}>
        Empty the field
      </Button>
    </Alert>
  )
}

/** What was recognised, such as “RSA, 2048 bits”. */
function recognised({ key }: KeyCheck): string | undefined {
  if (key === undefined) return undefined
  return [key.kty, key.crv, key.bits === undefined ? undefined : `${key.bits} bits`]
    .filter((part) => part !== undefined)
    .join(', ')
}

function Accepted({ check }: { check: KeyCheck }) {
  return (
    <Alert
      color="teal"
      icon={<IconCircleCheck />}
      title={`A good key: ${recognised(check) ?? 'accepted'}`}
    >
      <Text size="xs">
        Thumbprint <span className="mono">{check.key?.thumbprint}</span>
      </Text>
      {check.warnings.map(({ code, detail }) => (
        <Text key={code} size="sm" mt={4}>
          {detail}
        </Text>
      ))}
    </Alert>
  )
}

function Faults({ faults, check }: { faults: KeyCheck['faults']; check?: KeyCheck }) {
  const what = check && recognised(check)
  return (
    <Alert
      color="red"
      icon={<IconAlertTriangle />}
      title={
        what === undefined ? 'This cannot be registered' : `${what}: this cannot be registered`
      }
    >
      <List size="sm" listStyleType={faults.length > 1 ? 'disc' : 'none'}>
        {faults.map(({ code, detail }) => (
          <List.Item key={code}>
            {detail}{' '}
            <Text span size="xs" c="dimmed" className="mono">
              {code}
            </Text>
          </List.Item>
        ))}
      </List>
    </Alert>
  )
}
