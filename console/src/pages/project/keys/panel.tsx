import { Button, Card, Group, NativeSelect, Text } from '@mantine/core'
import type { JwtKey, KeyState, KeyStateEntry, Project } from '@pubring/client'
import { isInCommonJwks } from '@pubring/intake/algorithms'
import { IconSearch } from '@tabler/icons-react'
import { useCallback, useDeferredValue, useMemo, useState } from 'react'
import { lazyPart, usePreload } from '../../../components/boundary.tsx'
import { capitalized } from '../../../components/capitalized.ts'
import { CurlHint } from '../../../components/curl.tsx'
import { knownOrder } from '../../../components/sorting.ts'
import { both, EmptyState, Notice, QueryResult } from '../../../components/states.tsx'
import { TextLink, UserText } from '../../../components/text.tsx'
import { useOpenDialog } from '../../../forms/action-form.tsx'
import { fieldOf, TextField } from '../../../forms/text-fields.tsx'
import { usePageQuery, useTyped } from '../../../fragment.ts'
import { useKeyRefresh, useRefreshAt } from '../../../keys/live.ts'
import { type KeyRow, useKeyRows, useKeyStates, useKeys } from '../../../keys/queries.ts'
import { isUnderWay, nextStep, useRotations } from '../../../keys/rotations.ts'
import { keyStates } from '../../../keys/state-words.ts'
import { useApi, useRights } from '../../../session/session.tsx'
import { ProjectWarnings } from '../../../warnings/project-warnings.tsx'
import { type KeyAction, keyActions } from '../key-actions.ts'
import { Revocations } from '../revocation.tsx'
import type { BulkAction } from './bulk-actions.tsx'
import { keyOrders, type ListQuery, listMembers, matchingKeys, sortedKeys } from './query.ts'
import { KeyTable } from './table.tsx'

const KeyDialog = lazyPart(() => import('../key-dialogs.tsx'), 'KeyDialog')
const BulkDialog = lazyPart(() => import('./bulk-dialog.tsx'), 'BulkDialog')
const SelectionBar = lazyPart(() => import('./bulk-actions.tsx'), 'SelectionBar')
const WaitingKeys = lazyPart(() => import('../links.tsx'), 'WaitingKeys')
const RegistrationLinks = lazyPart(() => import('../links.tsx'), 'RegistrationLinks')

export function KeysPanel({ project, onRegister }: { project: Project; onRegister(): void }) {
  const query = both(useKeys(project.id), useKeyStates(project.id))
  const { data: links = [] } = useApi(['links', project.id], (client, signal) =>
    client.registrationLinks.list(project.id, { signal }),
  )
  return (
    <QueryResult query={query}>
      {([keys, states]) => (
        <>
          {keys.length === 0 ? (
            <NoKeys projectId={project.id} onRegister={onRegister} />
          ) : (
            <>
              {links.length > 0 && <WaitingKeys links={links} keys={keys} />}
              <NoActiveKey keys={keys} />
              <ProjectWarnings projectId={project.id} />
              <PendingRotations projectId={project.id} keys={keys} />
              <KeyList projectId={project.id} keys={keys} states={states} />
              <CurlHint send={(client) => client.keys.list(project.id)} />
            </>
          )}
          {links.length > 0 && <RegistrationLinks projectId={project.id} links={links} />}
        </>
      )}
    </QueryResult>
  )
}

function NoKeys({ projectId, onRegister }: { projectId: string; onRegister(): void }) {
  const { mayRegister } = useRights(projectId)
  return (
    <Card withBorder>
      <EmptyState
        title="No keys yet"
        action={
          mayRegister && (
            <Button mt="sm" onClick={onRegister}>
              Register the first key
            </Button>
          )
        }
      >
        Tokens of this project verify once you register a key. The private key stays in your
        backend; Pubring stores only the public key.
      </EmptyState>
    </Card>
  )
}

function PendingRotations({ projectId, keys }: { projectId: string; keys: JwtKey[] }) {
  const { mayWrite } = useRights(projectId)
  const { data: rotations = [] } = useRotations(projectId)
  const labels = new Map(keys.map(({ id, label }) => [id, label]))
  return rotations.filter(isUnderWay).map((rotation) => (
    <Notice key={rotation.id} tone="info" mb="sm">
      “<UserText>{labels.get(rotation.from) ?? rotation.from}</UserText>” is being replaced by “
      <UserText>{labels.get(rotation.to) ?? rotation.to}</UserText>”: {nextStep(rotation)}{' '}
      <TextLink href={`/projects/${projectId}/rotate/${rotation.from}`}>
        {mayWrite ? 'Continue' : 'Show'}
      </TextLink>
    </Notice>
  ))
}

function KeyList(props: { projectId: string; keys: JwtKey[]; states: KeyStateEntry[] }) {
  const { projectId, keys, states } = props
  usePreload(KeyDialog.load)
  usePreload(SelectionBar.load)
  const rows = useKeyRows(keys, states)
  const refresh = useKeyRefresh(projectId)
  useRefreshAt(
    rows.flatMap(({ convergedTime, expireTime }) => [convergedTime, expireTime]),
    (time) => {
      const hasEnded = ({ active, expireTime = '~' }: KeyRow) => active && expireTime <= time
      return refresh(rows.filter(hasEnded).map(({ id }) => id))
    },
  )
  const [query, setQuery] = usePageQuery(listMembers)
  const { matching, shown } = useShownKeys(rows, query)
  const [selected, setSelected] = useState<Set<string>>(new Set())
  const [open, setOpen] = useOpenDialog('key', keyActions)
  const [bulk, setBulk] = useState<{ action: BulkAction; keys: KeyRow[] }>()
  const openDialog = useCallback(
    (action: KeyAction, { id }: KeyRow) => setOpen({ action, id }),
    [setOpen],
  )
  const selectedKeys = shown.filter(({ id }) => selected.has(id))
  const openKey = rows.find(({ id }) => id === open?.id)
  return (
    <>
      <Revocations rows={rows} />
      <ListFilters keys={rows} matching={matching} query={query} onQuery={setQuery} />
      <Card withBorder padding={0} mb="sm" className="list-card">
        {selectedKeys.length > 0 && (
          <SelectionBar
            keys={selectedKeys}
            onAction={(action) => setBulk({ action, keys: selectedKeys })}
            onClear={() => setSelected(new Set())}
          />
        )}
        {shown.length === 0 ? (
          <NoMatch onClear={() => setQuery({ q: '', state: '', algorithm: '' })} />
        ) : (
          <KeyTable
            projectId={projectId}
            rows={shown}
            sorting={{ sort: sortOf(query), onSort: (sort) => setQuery({ sort }) }}
            selected={selected}
            onSelect={setSelected}
            onAction={openDialog}
          />
        )}
      </Card>
      {open !== undefined && openKey !== undefined && (
        <KeyDialog
          action={open.action}
          jwtKey={openKey}
          keys={keys}
          onClose={() => setOpen(undefined)}
        />
      )}
      {bulk !== undefined && (
        <BulkDialog
          action={bulk.action}
          selected={bulk.keys}
          keys={rows}
          onClose={() => setBulk(undefined)}
        />
      )}
    </>
  )
}

/** Newest first, unless another order is chosen. */
const sortOf = ({ sort }: ListQuery) => knownOrder(keyOrders, sort, '-registered')

/** Filters and sorts after the input has been rendered. */
function useShownKeys(rows: KeyRow[], query: ListQuery) {
  const deferred = useDeferredValue(query)
  const matching = useMemo(() => matchingKeys(rows, deferred), [rows, deferred])
  const shown = useMemo(() => {
    const { state } = deferred
    const chosen = matching.filter((key) => state === '' || key.state === state)
    return sortedKeys(chosen, sortOf(deferred))
  }, [matching, deferred])
  return { matching, shown }
}

const NoMatch = ({ onClear }: { onClear(): void }) => (
  <EmptyState
    title="No key matches"
    action={
      <Button variant="default" mt="sm" onClick={onClear}>
        Clear the filters
      </Button>
    }
  >
    The filters leave none of the keys of this project.
  </EmptyState>
)

type FilterProps = {
  keys: KeyRow[]
  /** The rows that match all filters but the state. */
  matching: KeyRow[]
  query: ListQuery
  onQuery(part: Partial<ListQuery>): void
}

function ListFilters({ keys, matching, query, onQuery }: FilterProps) {
  const algorithms = [...new Set(keys.map(({ algorithm }) => algorithm))].sort()
  const search = useTyped(fieldOf(query, onQuery, 'q'))
  return (
    <search aria-label="Keys">
      <StateTabs matching={matching} state={query.state} onState={(state) => onQuery({ state })} />
      <Group gap="xs" mb="sm" className="filters">
        <TextField
          aria-label="Filter keys"
          placeholder="Filter by label or kid"
          leftSection={<IconSearch size={16} aria-hidden />}
          {...search}
          autoComplete="off"
        />
        <NativeSelect
          aria-label="Algorithm"
          data={[{ value: '', label: 'Any algorithm' }, ...algorithms]}
          value={query.algorithm}
          onChange={({ currentTarget }) => onQuery({ algorithm: currentTarget.value })}
        />
      </Group>
    </search>
  )
}

function StateTabs(props: { matching: KeyRow[]; state: string; onState(state: string): void }) {
  const { matching, state, onState } = props
  const count = (each: KeyState) => matching.filter((key) => key.state === each).length
  const choices = [
    { value: '', label: 'All', size: matching.length },
    ...keyStates
      .map((value) => ({ value, label: value, size: count(value) }))
      .filter(({ value, size }) => size > 0 || value === state),
  ]
  return (
    <Group gap={6} mb="sm" role="group" aria-label="State">
      {choices.map(({ value, label, size }) => (
        <Button
          key={value}
          className="state-tab"
          variant={value === state ? 'light' : 'subtle'}
          color={value === state ? 'petrol' : 'gray'}
          size="xs"
          aria-pressed={value === state}
          onClick={() => onState(value)}
        >
          {capitalized(label)}
          <Text size="md" span className="state-count">
            {size.toLocaleString()}
          </Text>
        </Button>
      ))}
    </Group>
  )
}

function NoActiveKey({ keys }: { keys: JwtKey[] }) {
  const active = keys.filter((key) => key.active)
  const isCommonEmpty = keys.some(isInCommonJwks) && !active.some(isInCommonJwks)
  if (active.length > 0 && !isCommonEmpty) return null
  return (
    <Notice tone="warning" mb="sm" role="status">
      {active.length === 0
        ? 'The project has keys, and none is active: verifiers reject all its tokens. Activate a key or register one.'
        : 'None of the keys in jwks.json is active: verifiers that read it reject all tokens of this project. Activate or register an RSA, EC or OKP key.'}
    </Notice>
  )
}
