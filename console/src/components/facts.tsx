import { Card, Group, SimpleGrid, Text, Title } from '@mantine/core'
import { type ReactNode, useId } from 'react'
import { capitalized } from './capitalized.ts'

export const Facts = ({ name, facts }: { name: string; facts: Record<string, ReactNode> }) => (
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

export const Fact = ({ name, children }: { name: string; children: ReactNode }) => (
  <div style={{ minWidth: 0 }}>
    <Text size="xs" c="dimmed">
      {name}
    </Text>
    <Text component="div">{children}</Text>
  </div>
)

type FigureProps = { name: string; value: string; alarming?: boolean; children: ReactNode }

export const Figure = ({ name, value, alarming = false, children }: FigureProps) => (
  <div style={{ minWidth: 0 }}>
    <Text size="xs" c="dimmed" fw={600}>
      {name}
    </Text>
    <Text size="md" className={alarming ? 'figure warning' : 'figure'}>
      {capitalized(value)}
    </Text>
    <Text size="xs" c="dimmed">
      {children}
    </Text>
  </div>
)

export function Section(props: { title: string; actions?: ReactNode; children: ReactNode }) {
  const id = useId()
  return (
    <Card withBorder padding="md" component="section" aria-labelledby={id}>
      <Group justify="space-between" mb="sm" gap="xs">
        <Title order={2} size="h5" id={id}>
          {props.title}
        </Title>
        {props.actions}
      </Group>
      {props.children}
    </Card>
  )
}
