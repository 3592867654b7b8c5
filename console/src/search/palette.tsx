import { Fieldset, Group, Kbd, Loader, Stack, Text } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import type { Search } from '@pubring/client'
import { IconKey, IconSearch, IconStack2 } from '@tabler/icons-react'
import { type KeyboardEvent, useId, useState } from 'react'
import { useLocation } from 'wouter'
import { Dialog } from '../components/dialog.tsx'
import { StateBadge } from '../components/state-badge.tsx'
import { ErrorNotice } from '../components/states.tsx'
import { counted, TextLink, UserText } from '../components/text.tsx'
import { TextField } from '../forms/text-fields.tsx'
import { useApi, useRights } from '../session/session.tsx'
import { searchTextOf } from './text.ts'

const typingMs = 150

const resultsOfKind = 10

/** Shorter texts match too much. */
const minLength = 2

type SearchPaletteProps = { text: string; onText(text: string): void; onClose(): void }

export function SearchPalette({ text, onText, onClose }: SearchPaletteProps) {
  const { query, note } = searchTextOf(text)
  const search = useSearchResults(query)
  const [, navigate] = useLocation()
  const list = useId()
  const groups = groupsOf(search.results)
  const options = groups.flatMap(({ results }) => results)
  const [position, setPosition] = useState(0)
  const selected = Math.min(position, options.length - 1)
  const open = (result: SearchResult | undefined) => {
    if (result === undefined) return
    onClose()
    navigate(routeOf(result))
  }
  function press(event: KeyboardEvent) {
    const { length } = options
    const to = {
      ArrowDown: (selected + 1) % length,
      ArrowUp: (selected - 1 + length) % length,
      PageDown: Math.min(selected + 8, length - 1),
      PageUp: Math.max(selected - 8, 0),
    }[event.key]
    if (event.key === 'Enter') open(options[selected])
    else if (to === undefined || length === 0) return
    else setPosition(to)
    event.preventDefault()
  }
  const optionId = (index: number) => `${list}-${index}`
  return (
    <Dialog
      title="Search"
      onClose={onClose}
      size="lg"
      centered={false}
      padding="md"
      classNames={{ body: 'palette' }}
    >
      <TextField
        aria-label="Search keys and projects"
        placeholder="A kid, label, token, hash or project"
        leftSection={<IconSearch size={18} aria-hidden />}
        rightSection={search.pending && <Loader size="xs" />}
        value={text}
        onValue={(entered) => {
          onText(entered)
          setPosition(0)
        }}
        onKeyDown={press}
        role="combobox"
        aria-expanded={options.length > 0}
        aria-controls={list}
        aria-autocomplete="list"
        {...(options.length > 0 && { 'aria-activedescendant': optionId(selected) })}
        autoComplete="off"
        spellCheck={false}
        size="md"
        data-autofocus
      />
      {note !== undefined && (
        <Text size="xs" c="dimmed" mt={6}>
          <UserText>{note}</UserText>
        </Text>
      )}
      {search.error !== undefined && <ErrorNotice error={search.error} retry={search.retry} />}
      <div id={list} role="listbox" aria-label="Results" className="palette-results">
        {groups.map(({ title, results }) => (
          <Fieldset key={title} variant="unstyled" aria-label={title}>
            <Text size="xs" c="dimmed" fw={600} px="xs" pt="sm" pb={4} aria-hidden>
              {title}
            </Text>
            {results.map((result) => {
              const index = options.indexOf(result)
              const isSelected = index === selected
              return (
                <a
                  key={routeOf(result)}
                  ref={(element) => {
                    if (isSelected) element?.scrollIntoView({ block: 'nearest' })
                  }}
                  id={optionId(index)}
                  role="option"
                  aria-selected={isSelected}
                  tabIndex={-1}
                  href={`#${routeOf(result)}`}
                  className="palette-option"
                  onMouseMove={() => setPosition(index)}
                  onClick={(event) => {
                    // With a modifier key the browser opens it in another tab.
                    if (event.ctrlKey || event.metaKey || event.shiftKey) return
                    event.preventDefault()
                    open(result)
                  }}
                >
                  <ResultRow result={result} />
                </a>
              )
            })}
          </Fieldset>
        ))}
      </div>
      <Status query={query} entered={text} found={options.length} onClose={onClose} {...search} />
    </Dialog>
  )
}

type Found = ReturnType<typeof useSearchResults>

function Status(props: Found & { query: string; entered: string; found: number; onClose(): void }) {
  const { query, entered, found, pending, error, hasMore, onClose } = props
  const { mayAudit } = useRights()
  const isIdle = query.length < minLength
  const isDone = !isIdle && !pending
  return (
    <Stack gap={6} mt="sm">
      <Text c="dimmed" role="status">
        {isDone && error === undefined && found === 0 && (
          <>
            Nothing found for “<UserText>{query}</UserText>”. Of a kid or id, the first 8 or the
            last 4 characters suffice, of a hash the first 8. A deleted key is only in{' '}
            {mayAudit ? (
              <TextLink href={`/history?subject=${encodeURIComponent(query)}`} onClick={onClose}>
                the history
              </TextLink>
            ) : (
              'the history of its project'
            )}
            .
          </>
        )}
        {isDone && found > 0 && counted(found, 'result')}
        {isDone && found > 0 && hasMore && ', the first of more: enter more of the text'}
        {isIdle &&
          entered.trim() === '' &&
          'By kid, thumbprint, SHA-256 of the SPKI, label or project. Or paste a log line or a token: only its kid is sent.'}
      </Text>
      <Text size="xs" c="dimmed" visibleFrom="xs" aria-hidden>
        <Kbd size="xs">↑</Kbd> <Kbd size="xs">↓</Kbd> to move, <Kbd size="xs">Enter</Kbd> to open,{' '}
        <Kbd size="xs">Esc</Kbd> to close
      </Text>
    </Stack>
  )
}

/** Results only of what is entered now: an answer to an earlier text is never shown. */
function useSearchResults(query: string) {
  const [settled] = useDebouncedValue(query, typingMs)
  const isSettled = settled === query && query.length >= minLength
  const { data, error, isFetching, refetch } = useApi(
    ['search', query],
    isSettled && ((client, signal) => client.search(query, { limit: resultsOfKind, signal })),
    { staleTime: 0, gcTime: 0 },
  )
  return {
    results: isSettled ? (data?.results ?? []) : [],
    hasMore: data?.hasMore === true,
    pending: query.length >= minLength && (!isSettled || isFetching),
    error: isSettled && error !== null ? error : undefined,
    retry: () => void refetch(),
  }
}

type SearchResult = Search['results'][number]

const kinds = {
  key: { title: 'Keys', Icon: IconKey },
  project: { title: 'Projects', Icon: IconStack2 },
}

const members: Record<SearchResult['matched'], string> = {
  kid: 'kid',
  publishedKid: 'published kid',
  thumbprint: 'thumbprint',
  spkiSha256: 'SHA-256 of the SPKI',
  sshFingerprint: 'OpenSSH fingerprint',
  label: 'label',
  id: 'id',
  name: 'name',
}

function groupsOf(results: SearchResult[]) {
  return Object.entries(kinds)
    .map(([type, kind]) => ({ ...kind, results: results.filter((each) => each.type === type) }))
    .filter((group) => group.results.length > 0)
}

const routeOf = (result: SearchResult): string =>
  result.type === 'key'
    ? `/projects/${result.projectId}/keys/${result.kid}`
    : `/projects/${result.id}`

function ResultRow({ result }: { result: SearchResult }) {
  const { Icon } = kinds[result.type]
  return (
    <Group wrap="nowrap" gap="sm" w="100%">
      <Icon size={18} aria-hidden className="unshrinkable" />
      <div style={{ flex: 1, minWidth: 0 }}>
        <Text fw={600} lineClamp={2}>
          <UserText>{result.type === 'key' ? result.label : result.name}</UserText>
        </Text>
        <Text size="xs" c="dimmed">
          {result.type === 'key' && result.projectName && `${result.projectName} · `}
          {result.type === 'key' && `${result.algorithm} · `}
          <span className="mono">{result.type === 'key' ? result.kid : result.id}</span>
          {!/label|name/.test(result.matched) && ` · found by ${members[result.matched]}`}
        </Text>
      </div>
      {result.type === 'key' && <StateBadge state={result.state} />}
    </Group>
  )
}
