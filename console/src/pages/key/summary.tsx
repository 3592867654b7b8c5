import { Card, SimpleGrid } from '@mantine/core'
import type { JwtKey } from '@pubring/client'
import { Figure } from '../../components/figure.tsx'
import { exactTime, isSoon, relativeTime, useNow } from '../../components/times.tsx'
import { stateMeanings } from '../../keys/state-words.ts'
import type { KeyRow } from '../../keys/states.ts'

/** The figures that matter first. */
export function Summary({ row, activeKeys }: { row: KeyRow; activeKeys: JwtKey[] | undefined }) {
  const { id, state, endsBecause, active, createTime, expireTime } = row
  const now = useNow(15_000)
  const time = (text: string) => relativeTime(Date.parse(text), Math.max(now, Date.now()))
  const others = activeKeys?.filter((key) => key.id !== id).length
  return (
    <Card withBorder padding="md">
      <SimpleGrid cols={{ base: 2, md: 4 }} spacing="lg">
        <Figure name="State" value={state} alarming={state === 'compromised'}>
          {stateMeanings[state]}{' '}
          {endsBecause === 'compromised' && !active && 'It is compromised: it stays off.'}
        </Figure>
        <Figure name="Registered" value={time(createTime)}>
          {exactTime(createTime)}
        </Figure>
        <Figure
          name={state === 'expired' ? 'Expired' : 'Expires'}
          value={expireTime ? time(expireTime) : 'never'}
          alarming={active && expireTime !== undefined && isSoon(expireTime)}
        >
          {expireTime === undefined ? 'It has no expiry time.' : `${exactTime(expireTime)}.`}{' '}
          {endsBecause === 'superseded' && 'A rotation replaces it.'}
        </Figure>
        <Figure name="Other active keys" value={others === undefined ? '…' : String(others)}>
          {others === 0 && active ? 'It is the last one.' : 'In this project.'}
        </Figure>
      </SimpleGrid>
    </Card>
  )
}
