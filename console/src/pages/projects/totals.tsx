import { Card, SimpleGrid } from '@mantine/core'
import { Figure } from '../../components/figure.tsx'
import { useNow, week } from '../../components/times.tsx'
import { type ProjectRow, totalsOf } from './rows.ts'

/** The figures that an operator asks for first: how many keys there are, and what breaks soon. */
export function TotalFigures({ rows }: { rows: ProjectRow[] }) {
  const now = useNow(60_000)
  const { projects, activeKeys, soon, withoutKey } = totalsOf(rows, now + week)
  return (
    <Card withBorder padding="md" mb="md">
      <SimpleGrid cols={{ base: 2, md: 4 }} spacing="lg">
        <Figure name="Projects" value={String(projects)}>
          {projects === 1 ? 'project' : 'projects'} that you can see
        </Figure>
        <Figure name="Active keys" value={String(activeKeys)}>
          that verifiers accept
        </Figure>
        <Figure name="Next 7 days" value={String(soon)} alarming={soon > 0}>
          {soon === 1 ? 'project has' : 'projects have'} an expiring key
        </Figure>
        <Figure name="No active key" value={String(withoutKey)} alarming={withoutKey > 0}>
          {withoutKey === 1 ? 'project has' : 'projects have'} keys, but no active one
        </Figure>
      </SimpleGrid>
    </Card>
  )
}
