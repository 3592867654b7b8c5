import { Alert, Button, Group, List, Loader, Stack, Text } from '@mantine/core'
import { IconAlertTriangle, IconCircleCheck, IconShieldX, IconTransform } from '@tabler/icons-react'
import type { KeyCheck } from '../../../../client/src/index.ts'
import { ErrorNotice } from '../../components/error-notice.tsx'
import type { Conversion } from '../../keys/conversion.ts'
import type { KeyVerdict } from './verdict.ts'

type NoticeProps = { verdict: KeyVerdict; text: string; onText(text: string): void }

/** Shows the verdict on a key, and offers what to do next. */
export function VerdictNotice(props: NoticeProps) {
  return (
    <Stack gap="xs" aria-live="polite">
      <Notice {...props} />
    </Stack>
  )
}

function Notice({ verdict, text, onText }: NoticeProps) {
  const { secret, pending, check, conversion, error } = verdict
  if (secret) return <SecretNotice onClear={() => onText('')} />
  if (text.trim() === '') return null
  if (conversion !== undefined) {
    return <ConversionNotice conversion={conversion} onConvert={onText} />
  }
  if (error !== undefined) {
    const isConversionError = error instanceof Error && error.name === 'Error'
    if (!isConversionError) return <ErrorNotice error={error} />
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
  if (check.accepted) return <Accepted check={check} />
  return <Faults faults={check.faults} check={check} />
}

function SecretNotice({ onClear }: { onClear(): void }) {
  return (
    <Alert
      color="red"
      icon={<IconShieldX />}
      title="This looks like a secret. It was not sent."
      role="alert"
    >
      <Text size="sm">
        It may be a private key or an API key. Pubring needs only the public key. To print that of a
        private key in PEM: <span className="mono">openssl pkey -in private.pem -pubout</span>. If
        this text has passed through a chat, a ticket or a shared clipboard, treat the key as
        compromised and generate a new pair.
      </Text>
      <Button size="xs" color="red.8" mt="sm" onClick={onClear}>
        Clear the field
      </Button>
    </Alert>
  )
}

function ConversionNotice(props: { conversion: Conversion; onConvert(pem: string): void }) {
  const { conversion, onConvert } = props
  return (
    <Alert color="petrol" icon={<IconTransform />} title={`This is a ${conversion.from}`}>
      <Text size="sm">
        Pubring accepts only public keys. You can extract the key here in your browser.
      </Text>
      <Button size="xs" mt="sm" onClick={() => onConvert(conversion.pem)}>
        Extract public key
      </Button>
    </Alert>
  )
}

/** What the check recognized, such as “RSA, 2048 bits”. */
function describeKey({ key }: KeyCheck): string | undefined {
  if (key === undefined) return undefined
  return [key.kty, key.crv, key.bits === undefined ? undefined : `${key.bits} bits`]
    .filter((part) => part !== undefined)
    .join(', ')
}

function Accepted({ check }: { check: KeyCheck }) {
  const description = describeKey(check)
  return (
    <Alert
      color="teal"
      icon={<IconCircleCheck />}
      title={description === undefined ? 'Valid key' : `Valid key: ${description}`}
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
  const description = check && describeKey(check)
  return (
    <Alert
      color="red"
      icon={<IconAlertTriangle />}
      title={`This key cannot be registered${description === undefined ? '' : `: ${description}`}`}
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
      {faults.some(({ skipped }) => skipped !== undefined) && (
        <Text size="xs" c="dimmed" mt={4}>
          Slower rules were not checked, because this already rejects the key.
        </Text>
      )}
    </Alert>
  )
}
