import { Table, type TableThProps, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { UserText } from './user-text.tsx'

export type Column<Row> = { title: string; cell(row: Row): ReactNode }

/** A table of `rows`. Where it is narrow, each row becomes a card (see console.css). */
export function DataTable<Row extends { id: string }>(props: {
  rows: Row[]
  columns: Column<Row>[]
}) {
  const { rows, columns } = props
  return (
    <div className="cards-container">
      <Table className="cards" verticalSpacing="sm">
        <Table.Thead>
          <Table.Tr>
            {columns.map(({ title }) => (
              <TitleCell key={title} title={title} />
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row) => (
            <Table.Tr key={row.id} data-id={row.id}>
              {columns.map(({ title, cell }) => (
                <Table.Td key={title} data-label={title}>
                  {cell(row)}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </div>
  )
}

/** The heading of a column; that of the actions is only read out. */
export function TitleCell({ title, ...props }: { title: string } & TableThProps) {
  if (title === 'Actions') return <Table.Th aria-label={title} {...props} />
  return <Table.Th {...props}>{title}</Table.Th>
}

/** The name of a row's subject. */
export function RowName({ children }: { children: string }) {
  return (
    <Text fw={600} inherit className="row-name">
      <UserText>{children}</UserText>
    </Text>
  )
}

/** A cell with a smaller second line. */
export function TwoLines({ children, below }: { children: ReactNode; below: ReactNode }) {
  return (
    <div style={{ overflowWrap: 'anywhere' }}>
      {children}
      <Text size="xs" c="dimmed" component="div">
        {below}
      </Text>
    </div>
  )
}
