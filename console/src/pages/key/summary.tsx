import { Card, SimpleGrid } from '@mantine/core'
import type { JwtKey, JwtKeyWithDetails, KeyRole } from '@pubring/client'
import { Figure } from '../../components/figure.tsx'
import { exactTime, isSoon, relativeTime, useNow } from '../../components/times.tsx'

/** The meaning of a role for those who sign and verify. */
const meanings: Record<KeyRole, string> = {
  spreading: 'Verifiers are still loading it. Do not sign with it yet.',
  current: 'Every verifier knows it. You can sign with it.',
  previous: 'A rotation replaces it. Sign with the new key.',
  off: 'Not published. Its tokens are rejected.',
  expired: 'Past its expiry. Its tokens are rejected.',
}

/** The figures that matter first. */
export function Summary(props: { jwtKey: JwtKeyWithDetails; activeKeys: JwtKey[] | undefined }) {
  const { jwtKey, activeKeys } = props
  const { createTime, expireTime, details } = jwtKey
  const now = useNow(15_000)
  const time = (text: string) => relativeTime(Date.parse(text), Math.max(now, Date.now()))
  const others = activeKeys?.filter(({ id }) => id !== jwtKey.id).length
  return (
    <Card withBorder padding="md">
      <SimpleGrid cols={{ base: 2, md: 4 }} spacing="lg">
        <Figure name="State" value={details.role}>
          {meanings[details.role]}
        </Figure>
        <Figure name="Registered" value={time(createTime)}>
          {exactTime(createTime)}
        </Figure>
        <Figure
          name={details.role === 'expired' ? 'Expired' : 'Expires'}
          value={expireTime ? time(expireTime) : 'never'}
          alarming={jwtKey.active && expireTime !== undefined && isSoon(expireTime)}
        >
          {expireTime === undefined ? 'It has no expiry time.' : exactTime(expireTime)}
        </Figure>
        <Figure name="Other active keys" value={others === undefined ? '…' : String(others)}>
          {others === 0 && jwtKey.active ? 'It is the last one.' : 'In this project.'}
        </Figure>
      </SimpleGrid>
    </Card>
  )
}
