import { Text } from '@mantine/core'
import { verdictOfUse } from '@pubring/client'
import { useNow } from '../components/text.tsx'
import type { KeyRow } from './queries.ts'

const verdicts = { in_use: 'in use', not_reported: 'no use reported', unknown: 'use unknown' }

/** The use in a word, for a row; nothing in a project where no verifier reports. */
export function UseVerdict({ row: { use } }: { row: KeyRow }) {
  const now = useNow(15_000)
  return use && <Detail>{verdicts[verdictOfUse(use, Math.max(now, Date.now()))]}</Detail>
}

/** A smaller second line of a cell; a part of the first one where rows are cards. */
export const Detail = ({ children }: { children: string }) => (
  <Text size="xs" c="dimmed" component="span" className="row-detail">
    {children}
  </Text>
)
