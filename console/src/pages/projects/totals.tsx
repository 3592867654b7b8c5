import { Card, SimpleGrid } from '@mantine/core'
import { Figure } from '../../components/figure.tsx'
import { alarms, type ProjectRow, totalsOf } from './rows.ts'

/** The figures that an operator asks for first: how many keys there are, and what breaks soon. */
export function TotalFigures({ rows }: { rows: ProjectRow[] }) {
  const { projects, activeKeys, raised } = totalsOf(rows)
  return (
    <Card withBorder padding="md" mb="md">
      <SimpleGrid cols={{ base: 2, md: 5 }} spacing="lg">
        <Figure name="Projects" value={String(projects)}>
          {projects === 1 ? 'project' : 'projects'} that you can see
        </Figure>
        <Figure name="Active keys" value={String(activeKeys)}>
          that verifiers accept
        </Figure>
        {alarms.map(({ text, project }, index) => {
          const count = raised[index] ?? 0
          return (
            <Figure key={text} name={text} value={String(count)} alarming={count > 0}>
              {count === 1 ? 'project has' : 'projects have'} {project}
            </Figure>
          )
        })}
      </SimpleGrid>
    </Card>
  )
}
