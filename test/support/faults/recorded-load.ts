import { setTimeout as delay } from 'node:timers/promises'
import {
  createServerClient,
  freshPem,
  type ServerClient,
  type ServerResponse,
} from '../server/client.ts'
import { waitLimitMs } from '../waiting.ts'
import type { Change, History, Step, Write } from './linearizability.ts'

/** Clients of one project, whose requests and responses are recorded. */
export interface RecordedLoad {
  history: History
  /** How many changes and lists, and how many key sets, had each status. 0: no response. */
  statuses: { api: Record<string, number>; published: Record<string, number> }
  /** The requests for key sets that got none. */
  failures: { at: number; status: number; cause: string; headers: Record<string, string> }[]
  /** The longest time in milliseconds until a key set arrived. */
  slowest: number
  /** Each of these sends one request. */
  write(): Promise<void>
  list(): Promise<void>
  look(): Promise<void>
  /** Waits up to two seconds for another key set than the last one. */
  follow(): Promise<void>
  /** Reads the ledger, which completes the history. */
  complete(): Promise<void>
}

/** In the key set of a project without active keys. */
const placeholder = 'no-active-key'

interface LedgerEvent {
  type: string
  requestId: string
  subject: { id: string }
  changes?: { active?: { to?: boolean } }
}

/** `url`: where to send the next request. Long because all clients share what it records. */
export function createRecordedLoad(
  url: () => string,
  apiKey: string,
  project: string,
  keyCount = 10,
): RecordedLoad {
  const keysPath = `/v1/projects/${project}/jwt-keys`
  const setPath = `/v1/projects/${project}/.well-known/jwks.json`
  /** The keys that may be changed, and whether they were last set to active. */
  const known = new Map<string, boolean>()
  let etag = ''
  const client = (): ServerClient => createServerClient({ url: url() }, apiKey)

  /** A call and its time. */
  async function timed(call: () => Promise<ServerResponse | undefined>) {
    const called = performance.now()
    const response = await call()
    return { called, answered: performance.now(), response }
  }
  function count(
    kind: keyof RecordedLoad['statuses'],
    response: { status: number } | undefined,
  ): void {
    const status = String(response?.status ?? 0)
    load.statuses[kind][status] = (load.statuses[kind][status] ?? 0) + 1
  }
  function chooseChange(): [string | undefined, Change] {
    const kids = [...known.keys()]
    const kid = kids[Math.floor(Math.random() * kids.length)]
    if (kid === undefined || (known.size < keyCount && Math.random() < 0.5))
      return [undefined, 'create']
    const isActive = known.get(kid)
    if (!isActive && Math.random() < 0.5) return [kid, 'delete']
    return [kid, Math.random() < 0.9 === isActive ? 'deactivate' : 'activate']
  }
  function send(kid: string | undefined, change: Change): Promise<ServerResponse | undefined> {
    if (kid === undefined) {
      const body = { name: 'k', algorithm: 'ES256', publicKeyPem: freshPem() }
      return client().send('POST', keysPath, body)
    }
    if (change === 'delete') return client().send('DELETE', `${keysPath}/${kid}`)
    return client().send('PATCH', `${keysPath}/${kid}`, { active: change === 'activate' })
  }
  async function fetchSet(headers: Record<string, string>): Promise<void> {
    const called = performance.now()
    let cause = ''
    const response = await fetchText(url() + setPath, headers).catch((error) => {
      cause = `${error} ${error.cause}`
      return undefined
    })
    const answered = performance.now()
    count('published', response)
    if (response?.status !== 200 && response?.status !== 304)
      load.failures.push({ at: Date.now(), status: response?.status ?? 0, cause, headers })
    if (response?.status === 304) return
    if (headers.prefer === undefined) load.slowest = Math.max(load.slowest, answered - called)
    if (response?.status !== 200) return
    if (headers.prefer !== undefined) etag = response.headers.get('etag') ?? ''
    const { keys }: { keys: { kid: string }[] } = JSON.parse(response.text)
    const kids = keys.map(({ kid }) => kid).filter((kid) => kid !== placeholder)
    // Whole seconds, rounded down.
    const age = response.headers.get('age')
    load.history.published.push({
      called,
      answered,
      keys: kids.map((kid) => [kid, true]),
      ...(age === null ? {} : { staleMs: (Number(age) + 1) * 1_000 }),
    })
  }

  const load: RecordedLoad = {
    history: { writes: [], lists: [], facts: [], published: [], lag: 1_000, ledger: [] },
    statuses: { api: {}, published: {} },
    failures: [],
    slowest: 0,
    async write() {
      const [kid, change] = chooseChange()
      const { called, answered, response } = await timed(() => send(kid, change))
      count('api', response)
      const requestId = response?.headers.get('x-request-id') ?? undefined
      const write: Write = {
        ...(kid === undefined ? {} : { kid }),
        ...(requestId === undefined ? {} : { requestId }),
        change,
        called,
        answered,
      }
      const status = response?.status ?? 0
      if (status === 200 || status === 201 || status === 204) {
        const made = kid ?? String(JSON.parse(response?.text ?? '').kid)
        load.history.writes.push({ ...write, kid: made })
        if (change === 'delete') known.delete(made)
        else known.set(made, change !== 'deactivate')
      } else if (status === 0 || status >= 500) {
        load.history.writes.push({ ...write, answered: Number.POSITIVE_INFINITY })
      } else if (kid !== undefined && status === 404) {
        load.history.facts.push({ kid, active: undefined, called, answered })
        known.delete(kid)
      } else if (kid !== undefined && status === 409) {
        load.history.facts.push({ kid, active: true, called, answered })
        known.set(kid, true)
      }
    },
    async list() {
      const { called, answered, response } = await timed(() => client().send('GET', keysPath))
      count('api', response)
      if (response?.status !== 200) return
      const listed: { id: string; active: boolean }[] = JSON.parse(response.text)
      load.history.lists.push({
        called,
        answered,
        keys: listed.map(({ id, active }) => [id, active]),
      })
    },
    look: () => fetchSet({}),
    follow: () => fetchSet({ 'if-none-match': etag, prefer: 'wait=2' }),
    async complete() {
      load.history.ledger = await stepsOf(client, project)
    },
  }
  return load
}

async function fetchText(url: string, headers: Record<string, string>) {
  const response = await fetch(url, { headers })
  const { status, headers: received } = response
  return { status, headers: received, text: await response.text() }
}

/** Sends the request until a server answers it: one of them may just have been killed. */
async function read(client: () => ServerClient, path: string): Promise<string> {
  const until = performance.now() + waitLimitMs
  for (;;) {
    const response = await client().send('GET', path)
    if (response?.status === 200) return response.text
    if (performance.now() > until) throw new Error(`no server answers: ${response?.text}`)
    await delay(100)
  }
}

/** Reads the changes of keys in the project's ledger page by page. */
async function stepsOf(client: () => ServerClient, project: string): Promise<Step[]> {
  const events: LedgerEvent[] = []
  for (;;) {
    const path = `/v1/projects/${project}/events?limit=200&after=${events.length}`
    const page: LedgerEvent[] = JSON.parse(await read(client, path))
    if (page.length === 0) break
    events.push(...page)
  }
  return events
    .filter(({ type }) => type.startsWith('key.'))
    .map((event) => ({
      requestId: event.requestId,
      kid: event.subject.id,
      change: changeOf(event),
    }))
}

function changeOf({ type, changes }: LedgerEvent): Change {
  if (type === 'key.created') return 'create'
  if (type === 'key.deleted') return 'delete'
  return changes?.active?.to === true ? 'activate' : 'deactivate'
}

/** Repeats an action until the signal, with pauses between no and the given number of milliseconds. */
export async function repeat(
  action: () => Promise<void>,
  pause: number,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await action()
    await delay(pause * Math.random())
  }
}
