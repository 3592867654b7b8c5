import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createBlocklist } from '../../../packages/intake/src/blocklists/blocklist.ts'
import type {
  AuditFinding,
  AuditOptions,
} from '../../../packages/server/src/features/audit/records.ts'
import { createAuditPool, runAudit } from '../../../packages/server/src/features/audit/run.ts'
import { keyChanges } from '../../../packages/server/src/features/keys/changes.ts'
import { keySetOf } from '../../../packages/server/src/features/keys/key-sets.ts'
import type { KeyRecord } from '../../../packages/server/src/features/keys/stored.ts'
import { findProjectRecord } from '../../../packages/server/src/kernel/access/stored-projects.ts'
import { verifyLedgers } from '../../../packages/server/src/kernel/ledger/all-ledgers.ts'
import { readEvents } from '../../../packages/server/src/kernel/ledger/event-reads.ts'
import { openLedgerReader } from '../../../packages/server/src/registry.ts'
import { closeModulus, prime, rsaRecord } from '../../support/keys/weak-keys.ts'
import { keyRecord } from '../../support/store/key-records.ts'
import { createProject, openTestStore, origin, type TestStore } from '../../support/store/store.ts'

const pool = createAuditPool()
afterAll(() => pool.close())

let opened: TestStore
async function open(): Promise<void> {
  opened = await openTestStore()
}
async function dispose(): Promise<void> {
  await opened.dispose()
}

const limits = { maxKeys: 1_000, maxJwksBytes: 10_000_000 }

async function put(key: KeyRecord): Promise<KeyRecord> {
  return opened.store.commit(keyChanges.createKey, { origin: origin(), key, limits })
}

interface Trial extends Partial<AuditOptions> {
  blocklist?: Uint8Array
  /** Aborts the audit after this number of examined keys. */
  stopAfter?: number
}

async function run({ blocklist, stopAfter, ...options }: Trial = {}) {
  const findings: AuditFinding[] = []
  const failures: unknown[] = []
  const controller = new AbortController()
  const clock = { now: Date.now, monotonic: () => performance.now() }
  const setup = {
    store: opened.store,
    clock,
    pool,
    blocklist: createBlocklist(blocklist),
    listener: {
      progress(stage: string, done: number) {
        if (stage === 'examining' && done === stopAfter) controller.abort()
      },
      finding: (finding: AuditFinding) => findings.push(finding),
      failure: (failure: unknown) => failures.push(failure),
    },
  }
  const { signal } = controller
  const summary = await runAudit(setup, { deactivate: false, again: false, signal, ...options })
  expect(failures).toEqual([])
  return { summary, findings, found: findings.map(({ kid, code }) => [kid, code]) }
}

async function eventsOf(projectId: string) {
  const events = await readEvents(opened.store.reader, projectId, { after: 0, limit: 500 })
  return events.filter(({ type }) => type !== 'project.created' && type !== 'key.created')
}

async function isEnabled({ projectId, id }: KeyRecord): Promise<boolean | undefined> {
  const keys = (await keySetOf(opened.store, projectId))?.keys
  return keys?.find((key) => key.id === id)?.enabled
}

describe('audit findings', () => {
  beforeAll(open)
  afterAll(dispose)

  test('good keys have none and are examined once', async () => {
    const { id } = await createProject(opened.store, 'good')
    await put(rsaRecord(id, prime() * prime()))
    await put(keyRecord(id))
    expect(await run()).toMatchObject({ found: [], summary: { keys: 2, examined: 2 } })
    expect(await run()).toMatchObject({ found: [], summary: { keys: 2, examined: 0 } })
    expect(await run({ again: true })).toMatchObject({ summary: { keys: 2, examined: 2 } })
    expect(await eventsOf(id)).toEqual([])
  })

  test('close primes that take 50,000 rounds of Fermat’s method are found', async () => {
    const { id } = await createProject(opened.store, 'close')
    const key = await put(rsaRecord(id, closeModulus(50_000n)))
    expect((await run({ projectId: id })).found).toEqual([[key.id, 'rsa_primes_too_close']])
  })

  test('all faults of a key by the current intake rules are in one event', async () => {
    const { id } = await createProject(opened.store, 'old')
    const key = await put(rsaRecord(id, closeModulus(500n), 3n))
    const { findings } = await run({ projectId: id })
    const codes = findings.map(({ code }) => code)
    expect(codes).toEqual(['rsa_exponent_too_small', 'rsa_primes_too_close'])
    expect(await eventsOf(id)).toMatchObject([
      {
        type: 'key.weakness_found',
        actor: { name: 'pubring audit' },
        subject: { type: 'key', id: key.id },
        changes: { weaknesses: { to: codes.join(' ') } },
      },
    ])
  })

  test('a key whose private key was submitted after its registration is compromised', async () => {
    const { id } = await createProject(opened.store, 'exposed')
    const [key, other] = [await put(keyRecord(id)), await put(keyRecord(id))]
    const exposed = { thumbprint: key.thumbprint, materialSha256: key.materialSha256 }
    await run({ projectId: id })
    await opened.store.commit(keyChanges.refusePrivateKey, { origin: origin(), exposed })
    expect((await run({ projectId: id })).found).toEqual([[key.id, 'key_known_compromised']])
    expect(await isEnabled(other)).toBe(true)
  })

  test('a key on the operator’s block list is compromised, even if it passed before', async () => {
    const { id } = await createProject(opened.store, 'listed')
    const key = await put(keyRecord(id))
    await run({ projectId: id })
    const blocklist = Buffer.from(`${key.materialSha256.slice(0, 30)}01`, 'hex')
    const { found, summary } = await run({ projectId: id, blocklist })
    expect(found).toEqual([[key.id, 'key_known_compromised']])
    expect(summary.examined).toBe(0)
  })
})

describe('comparison between projects', () => {
  let keys: Record<'left' | 'right' | 'here' | 'there' | 'same' | 'twin', KeyRecord>
  let numbers: { left: bigint; right: bigint; n: bigint; both: bigint }
  beforeAll(() => {
    const p = prime()
    const [left, right] = [p * prime(), p * prime()]
    numbers = { left, right, n: prime() * prime(), both: prime() * prime() }
  })
  afterEach(dispose)
  beforeEach(async () => {
    await open()
    const { id: a } = await createProject(opened.store, 'first-team')
    const { id: b } = await createProject(opened.store, 'second-team')
    const { left, right, n, both } = numbers
    keys = {
      left: await put(rsaRecord(a, left)),
      right: await put(rsaRecord(b, right)),
      here: await put(rsaRecord(a, n)),
      there: await put(rsaRecord(b, n, 65539n)),
      same: await put(rsaRecord(a, both)),
      twin: await put(rsaRecord(b, both)),
    }
  })

  const quick = { stopAfter: 0 }

  test('shared primes and reused moduli are found in both projects and recorded once, and no ledger names the other project or its key', async () => {
    const { left, right, here, there } = keys
    const first = await run(quick)
    expect(first.found.toSorted()).toEqual(
      [
        [here.id, 'rsa_modulus_reused'],
        [there.id, 'rsa_modulus_reused'],
        [left.id, 'rsa_shared_prime'],
        [right.id, 'rsa_shared_prime'],
      ].toSorted(),
    )
    const recorded = [await eventsOf(left.projectId), await eventsOf(right.projectId)]
    for (const [events, foreign] of [
      [recorded[0], right],
      [recorded[1], left],
    ] as const) {
      const text = JSON.stringify(events)
      expect(text).toContain('rsa_shared_prime')
      for (const secret of [foreign.projectId, foreign.id, foreign.thumbprint, '-team']) {
        expect(text).not.toContain(secret)
      }
    }
    const second = await run(quick)
    expect(second.found).toEqual(first.found)
    expect(second.findings.map(({ isNew }) => isNew)).toEqual([false, false, false, false])
    expect([await eventsOf(left.projectId), await eventsOf(right.projectId)]).toEqual(recorded)
  })

  test('keys that share a prime are deactivated with the event; keys that share a modulus are not', async () => {
    const before = await keySetOf(opened.store, keys.left.projectId)
    const { findings } = await run({ ...quick, deactivate: true })
    for (const finding of findings) {
      const shared = finding.code === 'rsa_shared_prime'
      expect(finding).toMatchObject({ isNew: true, active: !shared, deactivated: shared })
    }
    const { left, right, here, there } = keys
    expect(await Promise.all([left, right, here, there].map(isEnabled))).toEqual([
      ...[false, false, true, true],
    ])
    const events = await eventsOf(left.projectId)
    const state = { to: expect.stringMatching(/^[0-9a-f]{64}$/) }
    expect(events.map(({ subject, changes }) => [subject.id, changes])).toEqual([
      [here.id, { weaknesses: { to: 'rsa_modulus_reused' }, state }],
      [
        left.id,
        { weaknesses: { to: 'rsa_shared_prime' }, active: { from: true, to: false }, state },
      ],
    ])
    const after = await keySetOf(opened.store, left.projectId)
    expect(after?.revision).toBe((before?.revision ?? 0) + 2)
    const stored = after?.keys.find(({ id }) => id === left.id)
    expect(stored?.publishTime).toBe(stored?.updateTime)
    expect(stored?.updateTime).toBe(events[1]?.time)
  })

  test('an audit of one project compares its keys with all, and reports only its own', async () => {
    const { projectId } = keys.left
    const { found, summary } = await run({ projectId, ...quick, deactivate: true })
    expect(found).toEqual([
      [keys.here.id, 'rsa_modulus_reused'],
      [keys.left.id, 'rsa_shared_prime'],
    ])
    expect(summary.keys).toBe(3)
    expect(await eventsOf(keys.right.projectId)).toEqual([])
    expect(await isEnabled(keys.right)).toBe(true)
  })

  test('deactivating keys of earlier findings is an update, and the ledgers stay intact', async () => {
    await run(quick)
    await run({ ...quick, deactivate: true })
    await run({ ...quick, deactivate: true })
    expect((await eventsOf(keys.right.projectId)).slice(2)).toMatchObject([
      {
        type: 'key.updated',
        actor: { name: 'pubring audit' },
        subject: { id: keys.right.id },
        changes: { active: { from: true, to: false } },
      },
    ])
    const ledgers = await openLedgerReader(opened.database.url)
    for await (const { broken } of verifyLedgers(ledgers)) expect(broken).toBeUndefined()
    await ledgers.close()
  })
})

describe('an interrupted audit', () => {
  afterAll(dispose)
  beforeAll(async () => {
    await open()
    for (const name of ['one', 'two', 'three']) {
      const { id } = await createProject(opened.store, name)
      await Promise.all(Array.from({ length: 100 }, () => put(keyRecord(id))))
    }
  })

  test('continues where it stopped, across pages and projects', async () => {
    const first = await run({ stopAfter: 210 })
    expect(first.summary).toMatchObject({ keys: 300, complete: false })
    const { examined } = first.summary
    expect(examined).toBeGreaterThanOrEqual(210)
    expect(examined).toBeLessThan(220)
    const second = await run()
    expect(second.summary).toMatchObject({ keys: 300, examined: 300 - examined, complete: true })
    expect((await run()).summary).toMatchObject({ examined: 0, complete: true })
  })

  test('a new key is examined, and a deleted one leaves no pass', async () => {
    await run()
    const project = await findProjectRecord(opened.store.reader, { name: 'two' })
    const projectId = project?.id ?? ''
    const key = await put(keyRecord(projectId, { enabled: false }))
    expect((await run()).summary.examined).toBe(1)
    const kid = key.id
    await opened.store.commit(keyChanges.deleteKey, { origin: origin(), projectId, kid })
    const again = await put(key)
    expect(again.id).toBe(kid)
    expect((await run()).summary.examined).toBe(1)
  })
})
