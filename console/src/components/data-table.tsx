import { Table, Text } from '@mantine/core'
import type { ReactNode } from 'react'

/** A table of `rows`. On a phone each row becomes a card (see console.css). */
export function DataTable<Row extends { id: string }>(props: {
  rows: Row[]
  columns: { title: string; cell(row: Row): ReactNode }[]
}) {
  const { rows, columns } = props
  return (
    <Table className="cards" verticalSpacing="sm">
      <Table.Thead>
        <Table.Tr>
          {columns.map(({ title }) =>
            title === 'Actions' ? (
              <Table.Th key={title} aria-label={title} />
            ) : (
              <Table.Th key={title}>{title}</Table.Th>
            ),
          )}
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
  )
}

/** The name of a row's subject. */
export function RowName({ children }: { children: string }) {
  return (
    <Text fw={600} inherit style={{ overflowWrap: 'anywhere' }}>
      {children}
    </Text>
  )
}
