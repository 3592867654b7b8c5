import { Checkbox, NativeSelect, Table, UnstyledButton } from '@mantine/core'
import { IconArrowDown, IconArrowUp } from '@tabler/icons-react'
import { memo, useRef } from 'react'
import { type Column, TitleCell } from '../data-table.tsx'
import {
  indexOf,
  type Selection,
  useRangeSelection,
  useRowFocus,
  useRowVirtualizer,
  useScrollMemory,
} from './rows.ts'

export type SortableColumn<Row> = Column<Row> & {
  sort?: string
  /** In CSS; one column has none, and takes what is left. */
  width?: string
}

/** An order such as `name` or, descending, `-name`. */
export type Sorting = { sort: string; onSort(sort: string): void }

type VirtualTableProps<Row> = {
  name: string
  rows: Row[]
  /** They must be the same between renders; so must `nameOf` and `onSelect`. */
  columns: SortableColumn<Row>[]
  sorting: Sorting
  selection?: Selection<Row> | undefined
}

/**
 * A table of any number of rows, of which only those near the window are rendered. The arrow keys,
 * Home and End move the focus between rows. Where the table is narrow, rows become cards (console.css).
 */
export function VirtualTable<Row extends { id: string }>(props: VirtualTableProps<Row>) {
  const { name, rows, columns, sorting, selection } = props
  const body = useRef<HTMLTableSectionElement>(null)
  const focusedRow = useRef<number>(undefined)
  const virtualizer = useRowVirtualizer(rows, body, focusedRow)
  const moveFocus = useRowFocus(virtualizer, body, rows.length)
  const select = useRangeSelection(rows, selection)
  useScrollMemory()
  const items = virtualizer.getVirtualItems()
  const { scrollMargin } = virtualizer.options
  const before = (items[0]?.start ?? scrollMargin) - scrollMargin
  const after = virtualizer.getTotalSize() - ((items.at(-1)?.end ?? scrollMargin) - scrollMargin)
  return (
    <div className="cards-container">
      <SortSelect columns={columns} sorting={sorting} />
      {/* The roles stay where the style sheet makes cards of rows. */}
      <Table
        className="rows"
        role="table"
        aria-label={name}
        aria-rowcount={rows.length + 1}
        verticalSpacing={8}
      >
        <Head rows={rows} columns={columns} sorting={sorting} selection={selection} />
        <Table.Tbody
          ref={body}
          role="rowgroup"
          onKeyDown={moveFocus}
          onFocus={({ target }) => {
            focusedRow.current = indexOf(target)
          }}
        >
          <Spacer height={before} />
          {items.map(({ index }) => {
            const row = rows[index]
            return (
              row && (
                <BodyRow
                  key={row.id}
                  row={row}
                  index={index}
                  columns={columns}
                  isSelected={selection?.selected.has(row.id)}
                  name={selection?.nameOf(row)}
                  onSelect={select}
                  measure={virtualizer.measureElement}
                />
              )
            )
          })}
          <Spacer height={after} />
        </Table.Tbody>
      </Table>
    </div>
  )
}

/** For cards, which have no headings to sort by. */
function SortSelect<Row>(props: Pick<VirtualTableProps<Row>, 'columns' | 'sorting'>) {
  const { columns, sorting } = props
  const orders = columns.flatMap(({ title, sort }) =>
    sort === undefined
      ? []
      : [
          { value: sort, label: `${title}, ascending` },
          { value: `-${sort}`, label: `${title}, descending` },
        ],
  )
  return (
    <NativeSelect
      className="sort-select"
      aria-label="Order"
      data={orders}
      value={sorting.sort}
      onChange={({ currentTarget }) => sorting.onSort(currentTarget.value)}
    />
  )
}

const Spacer = ({ height }: { height: number }) =>
  height > 0 ? <tr className="spacer" aria-hidden style={{ height }} /> : null

function Head<Row extends { id: string }>(props: Omit<VirtualTableProps<Row>, 'name'>) {
  const { rows, columns, sorting, selection } = props
  const count =
    selection === undefined ? 0 : rows.filter(({ id }) => selection.selected.has(id)).length
  const all = count === rows.length && count > 0
  return (
    <Table.Thead role="rowgroup">
      <Table.Tr role="row" aria-rowindex={1}>
        {selection !== undefined && (
          <Table.Th role="columnheader" className="select-cell" aria-label="Selection">
            <Checkbox
              size="xs"
              aria-label="Select all"
              checked={all}
              indeterminate={count > 0 && !all}
              onChange={() => selection.onSelect(new Set(all ? [] : rows.map(({ id }) => id)))}
            />
          </Table.Th>
        )}
        {columns.map((column) => (
          <HeadCell key={column.title} {...column} sorting={sorting} />
        ))}
      </Table.Tr>
    </Table.Thead>
  )
}

function HeadCell(props: { title: string; sort?: string; width?: string; sorting: Sorting }) {
  const { title, sort, width, sorting } = props
  const style = width === undefined ? {} : { width }
  if (sort === undefined) return <TitleCell title={title} role="columnheader" style={style} />
  const isDescending = sorting.sort.startsWith('-')
  const isSorted = sorting.sort.replace(/^-/, '') === sort
  const Icon = isDescending ? IconArrowDown : IconArrowUp
  const order = isDescending ? 'descending' : 'ascending'
  return (
    <Table.Th role="columnheader" style={style} aria-sort={isSorted ? order : 'none'}>
      <UnstyledButton
        className="sort-button"
        onClick={() => sorting.onSort(sorting.sort === sort ? `-${sort}` : sort)}
      >
        {title}
        <Icon size={14} aria-hidden visibility={isSorted ? 'visible' : 'hidden'} />
      </UnstyledButton>
    </Table.Th>
  )
}

type BodyRowProps<Row> = {
  row: Row
  index: number
  columns: SortableColumn<Row>[]
  isSelected: boolean | undefined
  name: string | undefined
  onSelect(index: number, toAnchor: boolean): void
  measure(element: Element | null): void
}

function BodyRowContent<Row extends { id: string }>(props: BodyRowProps<Row>) {
  const { row, index, columns, isSelected, name, onSelect, measure } = props
  return (
    <Table.Tr
      ref={measure}
      role="row"
      aria-rowindex={index + 2}
      data-index={index}
      data-id={row.id}
      data-selected={isSelected === true || undefined}
    >
      {isSelected !== undefined && (
        <Table.Td role="cell" className="select-cell">
          <Checkbox
            size="xs"
            aria-label={`Select ${name}`}
            checked={isSelected}
            onChange={({ nativeEvent }) =>
              onSelect(index, 'shiftKey' in nativeEvent && nativeEvent.shiftKey === true)
            }
          />
        </Table.Td>
      )}
      {columns.map(({ title, cell }) => (
        <Table.Td key={title} role="cell" data-label={title}>
          {cell(row)}
        </Table.Td>
      ))}
    </Table.Tr>
  )
}

/** Scrolling renders the table often; a row only when it changes. */
const BodyRow = memo(BodyRowContent) as typeof BodyRowContent
