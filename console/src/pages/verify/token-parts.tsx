import { Card, Stack, Table, Text } from '@mantine/core'
import { localTime, relativeTime, useNow } from '../../components/times.tsx'
import { JsonView } from './json-view.tsx'

/** The time claims (RFC 7519 section 4.1), in seconds since the epoch. */
const timeClaims = [
  { claim: 'iat', label: 'Issued (iat)' },
  { claim: 'nbf', label: 'Valid from (nbf)' },
  { claim: 'exp', label: 'Expires (exp)' },
]

/** The maximum time of ECMAScript, in seconds. */
const maxTime = 8.64e12

/** The decoded header and claims of a token. */
export function TokenParts(props: {
  header: Record<string, unknown>
  claims: Record<string, unknown>
  verified: boolean
}) {
  const { header, claims, verified } = props
  return (
    <Card withBorder padding="lg">
      <Stack>
        <Text size="sm" c="dimmed">
          {verified
            ? 'The signature is valid: these are the claims of the signer.'
            : 'Decoded in this browser. Nothing in it is verified.'}
        </Text>
        <Part title="Header" value={header} />
        <Part title="Claims" value={claims} />
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
    <Table aria-label="Times of the token" withRowBorders={false}>
      <Table.Tbody>
        {times.map(({ label, time }) => (
          <Table.Tr key={label}>
            <Table.Th scope="row" fw={600} pl={0}>
              {label}
            </Table.Th>
            <Table.Td>{localTime(time)}</Table.Td>
            <Table.Td c="dimmed">{relativeTime(time, now)}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  )
}

function Part({ title, value }: { title: string; value: Record<string, unknown> }) {
  return (
    <div>
      <Text size="sm" fw={600} mb={4}>
        {title}
      </Text>
      <JsonView value={value} label={title} />
    </div>
  )
}
