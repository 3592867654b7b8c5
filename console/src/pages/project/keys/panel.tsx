import { Alert, Button, Card, Group, NativeSelect, Text } from '@mantine/core'
import type { JwtKey, KeyState, KeyStateEntry, Project } from '@pubring/client'
import { isInCommonJwks } from '@pubring/intake/algorithms'
import { IconAlertTriangle, IconRefresh, IconSearch } from '@tabler/icons-react'
import { lazy, useCallback, useDeferredValue, useMemo, useState } from 'react'
import { capitalized } from '../../../components/capitalized.ts'
import { CurlHint } from '../../../components/curl.tsx'
import { componentOf, LazyPart, usePreload } from '../../../components/lazy.tsx'
import { EmptyState, QueryResult } from '../../../components/states.tsx'
import { TextLink } from '../../../components/text-link.tsx'
import { UserText } from '../../../components/user-text.tsx'
import { useOpenDialog } from '../../../forms/drafts.ts'
import { TextField } from '../../../forms/text-fields.tsx'
import { useTyped } from '../../../forms/typed.ts'
import { useKeys } from '../../../keys/queries.ts'
import { useKeyRefresh, useRefreshAt } from '../../../keys/refresh.ts'
import { isUnderWay, nextStep, useRotations } from '../../../keys/rotations.ts'
import { keyStates } from '../../../keys/state-words.ts'
import { type KeyRow, useKeyRows, useKeyStates } from '../../../keys/states.ts'
import { useApi } from '../../../session/api.ts'
import { useRights } from '../../../session/rights.ts'
import { ProjectWarnings } from '../../../warnings/project-warnings.tsx'
import { type KeyAction, keyActions } from '../key-actions.ts'
import { Revocations } from '../revocation.tsx'
import type { BulkAction } from './bulk-actions.tsx'
import { expiryLabels, type ListQuery, matchingKeys, sortedKeys, useListQuery } from './query.ts'
import { KeyTable } from './table.tsx'

const loadKeyDialog = () => componentOf(import('../key-dialogs.tsx'), 'KeyDialog')
const KeyDialog = lazy(loadKeyDialog)
const loadBulkDialog = () => componentOf(import('./bulk-dialog.tsx'), 'BulkDialog')
const BulkDialog = lazy(loadBulkDialog)
const loadSelectionBar = () => componentOf(import('./bulk-actions.tsx'), 'SelectionBar')
const SelectionBar = lazy(loadSelectionBar)
const WaitingKeys = lazy(() => componentOf(import('../links.tsx'), 'WaitingKeys'))
const RegistrationLinks = lazy(() => componentOf(import('../links.tsx'), 'RegistrationLinks'))

/** The keys of a project with their actions. */
export function KeysPanel({ project, onRegister }: { project: Project; onRegister(): void }) {
  const query = useKeys(project.id)
  const states = useKeyStates(project.id)
  const { data: links = [] } = useApi(['links', project.id], (client, signal) =>
    client.registrationLinks.list(project.id, { signal }),
  )
  if (states.data === undefined) return <QueryResult query={states}>{() => null}</QueryResult>
  const { data } = states
  return (
    <QueryResult query={query}>
      {(keys) => (
        <>
          {keys.length === 0 ? (
            <NoKeys projectId={project.id} onRegister={onRegister} />
          ) : (
            <>
              {links.length > 0 && (
                <LazyPart>
                  <WaitingKeys links={links} keys={keys} />
                </LazyPart>
              )}
              <NoActiveKey keys={keys} />
              <ProjectWarnings projectId={project.id} />
              <PendingRotations projectId={project.id} keys={keys} />
              <KeyList projectId={project.id} keys={keys} states={data} />
              <CurlHint path={`/projects/${project.id}/jwt-keys`} />
            </>
          )}
          {links.length > 0 && (
            <LazyPart>
              <RegistrationLinks projectId={project.id} links={links} />
            </LazyPart>
          )}
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

/** Links to the rotations that are under way. */
function PendingRotations({ projectId, keys }: { projectId: string; keys: JwtKey[] }) {
  const { mayWrite } = useRights(projectId)
  const { data: rotations = [] } = useRotations(projectId)
  const labels = new Map(keys.map(({ id, label }) => [id, label]))
  return rotations.filter(isUnderWay).map((rotation) => (
    <Alert key={rotation.id} color="petrol" icon={<IconRefresh />} mb="sm">
      “<UserText>{labels.get(rotation.from) ?? rotation.from}</UserText>” is being replaced by “
      <UserText>{labels.get(rotation.to) ?? rotation.to}</UserText>”: {nextStep(rotation)}{' '}
      <TextLink href={`/projects/${projectId}/rotate/${rotation.from}`}>
        {mayWrite ? 'Continue' : 'Show'}
      </TextLink>
    </Alert>
  ))
}

function KeyList(props: { projectId: string; keys: JwtKey[]; states: KeyStateEntry[] }) {
  const { projectId, keys, states } = props
  usePreload(loadKeyDialog)
  usePreload(loadSelectionBar)
  const rows = useKeyRows(keys, states)
  const refresh = useKeyRefresh(projectId)
  useRefreshAt(
    rows.flatMap(({ convergedTime, expireTime }) => [convergedTime, expireTime]),
    (time) => {
      const hasEnded = ({ active, expireTime = '~' }: KeyRow) => active && expireTime <= time
      return refresh(rows.filter(hasEnded).map(({ id }) => id))
    },
  )
  const [query, setQuery] = useListQuery()
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
          <LazyPart>
            <SelectionBar
              keys={selectedKeys}
              onAction={(action) => setBulk({ action, keys: selectedKeys })}
              onClear={() => setSelected(new Set())}
            />
          </LazyPart>
        )}
        {shown.length === 0 ? (
          <NoMatch onClear={() => setQuery({ text: '', state: '', algorithm: '', expiry: '' })} />
        ) : (
          <KeyTable
            projectId={projectId}
            rows={shown}
            query={query}
            onQuery={setQuery}
            selected={selected}
            onSelect={setSelected}
            onAction={openDialog}
          />
        )}
      </Card>
      <LazyPart>
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
      </LazyPart>
    </>
  )
}

/** Filters and sorts after the input has been rendered. */
function useShownKeys(rows: KeyRow[], query: ListQuery) {
  const deferred = useDeferredValue(query)
  const matching = useMemo(() => matchingKeys(rows, deferred, Date.now()), [rows, deferred])
  const shown = useMemo(() => {
    const { state } = deferred
    return sortedKeys(
      matching.filter((key) => state === '' || key.state === state),
      deferred,
    )
  }, [matching, deferred])
  return { matching, shown }
}

function NoMatch({ onClear }: { onClear(): void }) {
  return (
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
}

type FilterProps = {
  /** All keys of the project. */
  keys: KeyRow[]
  /** The rows that match all filters but the state. */
  matching: KeyRow[]
  query: ListQuery
  onQuery(part: Partial<ListQuery>): void
}

/** The filters of the list: text, state, algorithm and expiry. */
function ListFilters({ keys, matching, query, onQuery }: FilterProps) {
  const algorithms = [...new Set(keys.map(({ algorithm }) => algorithm))].sort()
  const search = useTyped({ value: query.text, onValue: (text) => onQuery({ text }) })
  const select = (event: { currentTarget: { value: string } }) => event.currentTarget.value
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
          onChange={(event) => onQuery({ algorithm: select(event) })}
        />
        <NativeSelect
          aria-label="Expiry"
          data={Object.entries(expiryLabels).map(([value, label]) => ({ value, label }))}
          value={query.expiry}
          onChange={(event) => onQuery({ expiry: select(event) as ListQuery['expiry'] })}
        />
      </Group>
    </search>
  )
}

/** The states with their numbers of keys; one is chosen, or all. */
function StateTabs(props: {
  matching: KeyRow[]
  state: KeyState | ''
  onState(state: KeyState | ''): void
}) {
  const { matching, state, onState } = props
  const count = (each: KeyState) => matching.filter((key) => key.state === each).length
  const choices = [
    { value: '' as const, label: 'All', size: matching.length },
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
          <Text span className="state-count">
            {size.toLocaleString()}
          </Text>
        </Button>
      ))}
    </Group>
  )
}

/** Says that a project with keys has none active, or none in jwks.json. */
function NoActiveKey({ keys }: { keys: JwtKey[] }) {
  const active = keys.filter((key) => key.active)
  const isCommonEmpty = keys.some(isInCommonJwks) && !active.some(isInCommonJwks)
  if (active.length > 0 && !isCommonEmpty) return null
  return (
    <Alert color="yellow" icon={<IconAlertTriangle />} mb="sm" role="status">
      {active.length === 0
        ? 'The project has keys, and none is active: verifiers reject all its tokens. Activate a key or register one.'
        : 'None of the keys in jwks.json is active: verifiers that read it reject all tokens of this project. Activate or register an RSA, EC or OKP key.'}
    </Alert>
  )
}
