import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, expect, test } from 'vitest'
import {
  findViolation,
  type History,
  type Step,
  type Write,
} from '../support/faults/linearizability.ts'
import { recordFault } from '../support/faults/results.ts'
import {
  createServerClient,
  freshPem,
  highLimits,
  type ServerResponse,
} from '../support/server/client.ts'
import { workerPids } from '../support/server/command.ts'
import { spawnServer, startServer, temporaryFolder, whenReady } from '../support/server/process.ts'

const { folder, remove } = temporaryFolder()
afterAll(remove)

const keysUrl = '/v1/projects/default/jwt-keys'
const duration = 20_000

interface Listed {
  id: string
  active: boolean
}

interface LedgerEvent {
  type: string
  requestId: string
  subject: { id: string }
  changes?: { active?: { to?: boolean } }
}

test('the history of two servers under kills is linearizable, and key sets are at most a second old', async () => {
  const first = await startServer(folder, { ...highLimits, PUBRING_WORKERS: '2' })
  const { apiKey } = first
  const env = { ...highLimits, PUBRING_PUBLIC_URL: first.url }
  let second = await spawnServer(folder, env)
  await whenReady(second)

  const history: History = { writes: [], lists: [], published: [], lag: 1_000, ledger: [] }
  const known: string[] = []
  let ending = false

  /** A call and its time; undefined if its outcome is unknown. */
  async function timed(call: () => Promise<ServerResponse | undefined>) {
    const called = performance.now()
    const response = await call()
    return { called, answered: performance.now(), response }
  }
  async function write(url: string): Promise<void> {
    const client = createServerClient({ url }, apiKey)
    const kid = Math.random() < 0.3 ? undefined : known[Math.floor(Math.random() * known.length)]
    const active = Math.random() < 0.5
    const body = { name: 'k', algorithm: 'ES256', publicKeyPem: freshPem() }
    const { called, answered, response } = await timed(() =>
      kid === undefined
        ? client.send('POST', keysUrl, body)
        : client.send('PATCH', `${keysUrl}/${kid}`, { active }),
    )
    const to: Write['to'] = kid === undefined || active ? 'active' : 'inactive'
    if (response === undefined || response.status >= 500) {
      history.writes.push({ kid: kid ?? '', to, called, answered: Number.POSITIVE_INFINITY })
      return
    }
    expect([200, 201], response.text).toContain(response.status)
    const requestId = String(response.headers.get('x-request-id'))
    const made = kid ?? JSON.parse(response.text).kid
    if (kid === undefined) known.push(made)
    history.writes.push({ kid: made, to, called, answered, requestId })
  }
  async function list(url: string): Promise<void> {
    const { called, answered, response } = await timed(() =>
      createServerClient({ url }, apiKey).send('GET', keysUrl),
    )
    if (response?.status !== 200) return
    const listed: Listed[] = JSON.parse(response.text)
    const keys = new Map(listed.map(({ id, active }) => [id, active]))
    history.lists.push({ called, answered, keys })
  }
  async function look(url: string): Promise<void> {
    const { called, answered, response } = await timed(() =>
      createServerClient({ url }, apiKey).jwks(),
    )
    if (response?.status !== 200) return
    const { keys }: { keys: { kid: string }[] } = JSON.parse(response.text)
    const kids = keys.map(({ kid }) => kid).filter((kid) => kid !== 'no-active-key')
    history.published.push({ called, answered, keys: new Map(kids.map((kid) => [kid, true])) })
  }
  async function run(action: (url: string) => Promise<void>, pause: number): Promise<void> {
    while (!ending) {
      await action(Math.random() < 0.5 ? first.url : second.url)
      await delay(pause * Math.random())
    }
  }
  const clients = [write, write, write, write].map((action) => run(action, 40))
  clients.push(run(list, 30), run(list, 30), run(look, 30), run(look, 30))

  let kills = 0
  const until = performance.now() + duration
  while (performance.now() < until) {
    await delay(700 + 800 * Math.random())
    kills += 1
    if (kills % 3 === 0) {
      second.signal('SIGKILL')
      await second.ended
      second = await spawnServer(folder, env)
      await whenReady(second)
    } else {
      const [victim = 0] = workerPids(first)
      process.kill(victim, 'SIGKILL')
    }
  }
  ending = true
  await Promise.all(clients)
  history.ledger = await ledgerOf(second.url, apiKey)
  expect(findViolation(history)).toBeUndefined()
  const answered = history.writes.filter(({ requestId }) => requestId !== undefined).length
  expect(answered).toBeGreaterThan(100)
  expect(history.lists.length).toBeGreaterThan(100)
  for (const server of [first, second]) {
    server.signal('SIGTERM')
    expect(await server.ended, server.output().slice(-2_000)).toBe(0)
  }
  const main = join(import.meta.dirname, '../../src/main.ts')
  expect(execFileSync(process.execPath, [main, 'check'], { cwd: folder }).toString()).toMatch(
    /whole/,
  )
  recordFault({
    fault: 'Model check under kills',
    action: `four writers, two listers and two verifiers for ${duration / 1_000} s on two servers of one database, one of them with two workers, and ${kills} kill -9 of workers and servers`,
    observed: `${history.writes.length} changes (${history.writes.length - answered} without an response), ${history.lists.length} lists and ${history.published.length} key sets: linearizable, key sets at most 1 s behind`,
    acknowledged: answered,
    lost: 0,
  })
})

/** Reads the steps of the project's ledger page by page, without the project's creation. */
async function ledgerOf(url: string, apiKey: string): Promise<Step[]> {
  const client = createServerClient({ url }, apiKey)
  const events: LedgerEvent[] = []
  for (;;) {
    const path = `/v1/projects/default/events?limit=200&after=${events.length}`
    const page: LedgerEvent[] = JSON.parse((await client.send('GET', path))?.text ?? '')
    if (page.length === 0) break
    events.push(...page)
  }
  return events
    .filter(({ type }) => type.startsWith('key.'))
    .map(({ requestId, subject, changes }) => ({
      requestId,
      kid: subject.id,
      active: changes?.active?.to === true,
    }))
}
