import { Card, SimpleGrid, Text } from '@mantine/core'
import type { ReactNode } from 'react'

/** Facts by their names, such as those that tell the subject of a confirmation from others. */
export function Facts({ name, facts }: { name: string; facts: Record<string, ReactNode> }) {
  return (
    <Card withBorder padding="sm" role="group" aria-label={name}>
      <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="xs" verticalSpacing={6}>
        {Object.entries(facts).map(([each, value]) => (
          <Fact key={each} name={each}>
            {value}
          </Fact>
        ))}
      </SimpleGrid>
    </Card>
  )
}

/** A named value. */
export function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div style={{ minWidth: 0 }}>
      <Text size="xs" c="dimmed">
        {name}
      </Text>
      <Text size="sm" component="div" style={{ overflowWrap: 'anywhere' }}>
        {children}
      </Text>
    </div>
  )
}
