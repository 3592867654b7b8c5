import { Button, Card, Group, Menu, Stack, Text } from '@mantine/core'
import { type Project, PubringError } from '@pubring/client'
import { parseNote } from '@pubring/client/internal/log/note'
import { parseCheckpoint } from '@pubring/client/log'
import { IconDownload, IconShieldCheck } from '@tabler/icons-react'
import { type FormEvent, useEffect, useRef, useState } from 'react'
import { IconButton } from '../components/buttons.tsx'
import { download } from '../components/download.ts'
import { messageOf } from '../components/outage.ts'
import { ErrorNotice } from '../components/states.tsx'
import { localTime } from '../components/text.tsx'
import { TextField } from '../forms/text-fields.tsx'
import { longestWaitMs } from '../keys/live.ts'
import { readVerifierKey } from '../session/client.ts'
import { useApi, useSession } from '../session/session.tsx'
import { type Filter, givenFilters } from './filter.ts'
import { matchingEvents } from './query.ts'
import {
  canVerify,
  exportLedger,
  type LedgerSource,
  readProof,
  type Verification,
  VerificationResult,
  verifyLedger,
} from './verification.tsx'

/** How often to ask while the log does not have the newest event: by default it is signed once a minute. */
const refreshMs = 20_000

type Logged = { revision: number; time: string; size: number }

/** How far the log has a ledger; asks for a limited time until it has the event `newest`. */
export function useLogged(project: Project | undefined, newest: number) {
  const [asked, setAsked] = useState({ newest, since: Date.now() })
  if (asked.newest !== newest) setAsked({ newest, since: Date.now() })
  return useApi(
    ['ledger-proof', project?.id ?? 'system'],
    async (client, signal): Promise<Logged> => {
      const { revision, time, checkpoint } = await readProof({ client, project, signal })
      return { revision, time, size: parseCheckpoint(parseNote(checkpoint).text).size }
    },
    {
      refetchInterval: ({ state }) =>
        (state.data?.revision ?? 0) < newest &&
        Date.now() - asked.since < longestWaitMs &&
        refreshMs,
    },
  )
}

type LogPanelProps = {
  project: Project | undefined
  newest: number
  logged: ReturnType<typeof useLogged>
}

/** The events that the page shows, which may be those of all ledgers. */
type Shown = { project: Project | undefined; filter: Filter }

export function LogPanel({ project, newest, logged, events }: LogPanelProps & { events: Shown }) {
  const { busy, verification, problem, verify, exportShown, save } = useLedgerActions(project)
  const look = { variant: 'default', size: 'xs', disabled: busy !== undefined }
  const ledger = nameOfLedger(project)
  return (
    <Card withBorder padding="md" component="section" aria-label="The log">
      <Stack gap="sm">
        <Group justify="space-between" gap="sm">
          <LoggedText project={project} logged={logged} newest={newest} />
          <Group gap="sm">
            <IconButton
              {...look}
              Icon={IconShieldCheck}
              label="Verify this history"
              onClick={() => verify('')}
            />
            <Menu position="bottom-start">
              <Menu.Target>
                <IconButton {...look} Icon={IconDownload} label="Export" />
              </Menu.Target>
              <Menu.Dropdown>
                <Menu.Item onClick={() => exportShown(events)}>
                  {givenFilters(events.filter).length > 0 ? 'The events that match' : 'All events'}
                </Menu.Item>
                <Menu.Item onClick={save}>The whole ledger of {ledger}, with its proof</Menu.Item>
              </Menu.Dropdown>
            </Menu>
          </Group>
        </Group>
        {project === undefined && (
          <Text c="dimmed">
            The ledger of the registry has projects and access. Keys are in the ledger of their
            project: choose one to verify it or export it with proof.
          </Text>
        )}
        <Text role="status" hidden={busy === undefined}>
          {busy !== undefined && `${busy.action}: read ${busy.events} events…`}
        </Text>
        {problem !== undefined && <Problem error={problem} />}
        {verification !== undefined && (
          <>
            <VerificationResult verification={verification} ledger={ledger} />
            <LogKeyForm disabled={busy !== undefined} onKey={verify} />
          </>
        )}
      </Stack>
    </Card>
  )
}

const nameOfLedger = (project: Project | undefined) => project?.name ?? 'the registry'

export function LoggedText({ project, logged: { data, error }, newest }: LogPanelProps) {
  if (data === undefined) {
    return error === null ? <Text>…</Text> : <Problem error={error} />
  }
  const { revision, time, size } = data
  return (
    <Text data-logged={revision}>
      The ledger of {nameOfLedger(project)} is in the log up to event {revision}, since{' '}
      {localTime(time)}. The checkpoint of the log has {size} {size === 1 ? 'entry' : 'entries'}.
      {newest > revision && ' Later events are not in the log yet.'}
    </Text>
  )
}

/** A log that does not have the ledger is no failure of the page. */
function Problem({ error }: { error: unknown }) {
  const code = error instanceof PubringError ? error.code : undefined
  if (code === 'not_logged') {
    return (
      <Text>
        Not in the log yet, so there is no proof to verify or export. The log takes new events about
        once a minute.
      </Text>
    )
  }
  if (code === 'log_stopped') return <Text>The log has stopped. {messageOf(error)}</Text>
  return <ErrorNotice error={error} />
}

/** For the key of the log from another source than the server that is verified. */
function LogKeyForm({ disabled, onKey }: { disabled: boolean; onKey(key: string): void }) {
  const [key, setKey] = useState('')
  function submit(event: FormEvent) {
    event.preventDefault()
    onKey(key.trim())
  }
  return (
    <form onSubmit={submit}>
      <Group align="flex-end" gap="sm">
        <TextField
          label="Log key from the operator"
          placeholder="NAME+ID+BASE64"
          value={key}
          onValue={setKey}
          required
          flex={1}
          miw={220}
        />
        <Button type="submit" variant="default" disabled={disabled}>
          Verify with this key
        </Button>
      </Group>
    </form>
  )
}

/** Verifies and exports the ledger, one at a time; leaving the page ends it. */
function useLedgerActions(project: Project | undefined) {
  const { client, withSignIn } = useSession()
  const [busy, setBusy] = useState<{ action: string; events: number }>()
  const [verification, setVerification] = useState<Verification>()
  const [problem, setProblem] = useState<unknown>()
  const running = useRef<AbortController>(undefined)
  useEffect(() => () => running.current?.abort(), [])

  async function run(action: string, read: (source: LedgerSource) => Promise<void>) {
    const controller = new AbortController()
    running.current = controller
    const { signal } = controller
    const onProgress = (events: number) => setBusy({ action, events })
    setProblem(undefined)
    onProgress(0)
    try {
      await withSignIn(() => read({ client, project, signal, onProgress }))
    } catch (error) {
      if (!signal.aborted) setProblem(error)
    }
    if (!signal.aborted) setBusy(undefined)
  }
  return {
    busy,
    verification,
    problem,
    /** With the key of the log that the server names, if `entered` is empty. */
    verify(entered: string): void {
      setVerification(canVerify() ? undefined : { result: 'impossible' })
      if (!canVerify()) return
      void run('Verifying', async (source) => {
        const isEntered = entered !== ''
        // Reports that the log does not have the ledger yet.
        await readProof(source)
        const verifierKey = isEntered ? entered : await readVerifierKey(source.signal)
        setVerification(await verifyInWords(source, { verifierKey, isEntered }))
      })
    },
    exportShown({ project: shown, filter }: Shown): void {
      void run('Exporting', async ({ signal, onProgress }) => {
        const lines: string[] = []
        for await (const page of matchingEvents({ client, project: shown, filter, signal })) {
          lines.push(...page.map((event) => `${JSON.stringify(event)}\n`))
          onProgress(lines.length)
        }
        download(`${shown?.name ?? 'all'}-history.jsonl`, lines)
      })
    },
    save(): void {
      void run('Exporting', async (source) => {
        const { name, lines, proof } = await exportLedger(source)
        download(`${name}.jsonl`, lines)
        download(`${name}.tlog-proof`, [proof])
      })
    },
  }
}

async function verifyInWords(
  source: LedgerSource,
  key: { verifierKey: string; isEntered: boolean },
): Promise<Verification> {
  try {
    return { result: 'verified', ...key, ...(await verifyLedger(source, key.verifierKey)) }
  } catch (error) {
    if (error instanceof PubringError) throw error
    return { result: 'failed', error }
  }
}
