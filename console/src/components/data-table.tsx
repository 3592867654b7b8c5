import { Button, Group, Menu, Table, type TableThProps, Text, Tooltip } from '@mantine/core'
import { IconDots, type Icon as TablerIcon } from '@tabler/icons-react'
import { Fragment, type ReactNode } from 'react'
import { ToolButton } from './buttons.tsx'
import { CopyButton } from './copy.tsx'
import { Facts } from './facts.tsx'
import { endOf, TextLink, UserText } from './text.tsx'

export type Column<Row> = { title: string; cell(row: Row): ReactNode }

type DataTableProps<Row extends { id: string }> = { rows: Row[]; columns: Column<Row>[] }

/** A table of `rows`. Where it is narrow, each row becomes a card (see console.css). */
export const DataTable = <Row extends { id: string }>({ rows, columns }: DataTableProps<Row>) => (
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

export function RowFacts<Row>(props: { name: string; row: Row; columns: Column<Row>[] }) {
  const { name, row, columns } = props
  const facts = columns.map(({ title, cell }) => [title, cell(row)] as const)
  return <Facts name={name} facts={Object.fromEntries(facts)} />
}

/** The heading of a column; that of the actions is only read out. */
export function TitleCell({ title, ...props }: { title: string } & TableThProps) {
  if (title === 'Actions') return <Table.Th aria-label={title} {...props} />
  return <Table.Th {...props}>{title}</Table.Th>
}

export const RowName = ({ children }: { children: string }) => (
  <Text fw={600} inherit className="row-name">
    <UserText>{children}</UserText>
  </Text>
)

/** The label of a row, which leads to its page, and the end of its id; `idName` names the id for copying. */
export function RowLink(props: { href: string; label: string; id: string; idName: string }) {
  const { href, label, id, idName } = props
  return (
    <div className="row-name">
      <TextLink href={href} className="row-link" fw={600} underline="hover">
        <UserText>{label}</UserText>
      </TextLink>
      <Group gap={2} wrap="nowrap" className="row-kid">
        <Tooltip label={id}>
          <Text span size="xs" c="dimmed" className="mono" style={{ whiteSpace: 'nowrap' }}>
            {endOf(id)}
          </Text>
        </Tooltip>
        <CopyButton value={id} name={idName} />
      </Group>
    </div>
  )
}

export const TwoLines = ({ children, below }: { children: ReactNode; below: ReactNode }) => (
  <div style={{ overflowWrap: 'anywhere' }}>
    {children}
    <Text size="xs" c="dimmed" component="div">
      {below}
    </Text>
  </div>
)

/** An action in a menu; without `onClick`, a remark in its place. */
type MenuAction = {
  label: string
  Icon?: TablerIcon
  isDangerous?: boolean
  onClick?: () => void
}

/** The actions of the row with this name: a frequent one as a button, the others in a menu. */
export function ActionsMenu(props: {
  name: string
  label?: string
  frequent?: MenuAction | undefined
  actions: readonly MenuAction[]
}) {
  const { name, label: menu = `Actions for ${name}`, frequent, actions } = props
  const danger = actions.findIndex(({ isDangerous }) => isDangerous)
  return (
    <Group gap={4} wrap="nowrap" justify="flex-end">
      {frequent && (
        <Button
          variant="default"
          size="compact-xs"
          aria-label={`${frequent.label} ${name}`}
          onClick={frequent.onClick}
        >
          {frequent.label}
        </Button>
      )}
      {actions.length > 0 && (
        <Menu position="bottom-end">
          <Menu.Target>
            <ToolButton variant="subtle" color="gray" Icon={IconDots} label={menu} />
          </Menu.Target>
          <Menu.Dropdown>
            {actions.map(({ label, Icon, isDangerous, onClick }, index) => (
              <Fragment key={label}>
                {index > 0 && index === danger && <Menu.Divider />}
                {onClick === undefined ? (
                  <Menu.Label>{label}</Menu.Label>
                ) : (
                  <Menu.Item
                    leftSection={Icon && <Icon size={16} />}
                    {...(isDangerous && { className: 'warning' })}
                    onClick={onClick}
                  >
                    {label}
                  </Menu.Item>
                )}
              </Fragment>
            ))}
          </Menu.Dropdown>
        </Menu>
      )}
    </Group>
  )
}
