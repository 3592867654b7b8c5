import { Text } from '@mantine/core'
import { verdictOfUse } from '@pubring/client'
import { useNow } from '../components/times.tsx'
import type { KeyRow } from './states.ts'

const verdicts = {
  in_use: 'in use',
  not_reported: 'no use reported',
  unknown: 'use unknown',
}

/** The use in a word, for a row; nothing in a project where no verifier reports. */
export function UseVerdict({ row: { use } }: { row: KeyRow }) {
  const now = useNow(15_000)
  if (use === undefined) return null
  return (
    <Text size="xs" c="dimmed" component="span" className="row-detail">
      {verdicts[verdictOfUse(use, Math.max(now, Date.now()))]}
    </Text>
  )
}
