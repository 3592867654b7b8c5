import { setTimeout as delay } from 'node:timers/promises'
import { beforeEach, describe, expect, test } from 'vitest'
import { keyChanges } from '../../../packages/server/src/features/keys/changes.ts'
import { verifyLedgers } from '../../../packages/server/src/kernel/ledger/all-ledgers.ts'
import { systemLedgerId } from '../../../packages/server/src/kernel/ledger/chain.ts'
import { readEvents } from '../../../packages/server/src/kernel/ledger/event-reads.ts'
import {
  type LedgerVerdict,
  verifyLedger,
} from '../../../packages/server/src/kernel/ledger/verification.ts'
import { openLedgerReader } from '../../../packages/server/src/registry.ts'
import { keyRecord } from '../../support/store/key-records.ts'
import {
  createProject,
  limits,
  openTestStore,
  origin,
  type TestStore,
} from '../../support/store/store.ts'

let store: TestStore
let projectId: string

beforeEach(async () => {
  store = await openTestStore()
  projectId = (await createProject(store.store, 'payments')).id
  for (const label of ['a', 'b', 'c', 'd', 'e']) await addKey(label)
})

function addKey(label: string) {
  const key = keyRecord(projectId, { label })
  return store.store.commit(keyChanges.createKey, { origin: origin(), key, limits })
}

async function verdicts(): Promise<LedgerVerdict[]> {
  const ledgers = await openLedgerReader(store.database.url)
  try {
    return await Array.fromAsync(verifyLedgers(ledgers))
  } finally {
    await ledgers.close()
  }
}

const nothing = { differences: [] }

describe('intact ledgers', () => {
  test('the system’s is reported first, then each project’s, with the hash of its last event', async () => {
    const [last] = await readEvents(store.store.reader, projectId, { after: 5, limit: 1 })
    expect(await verdicts()).toEqual([
      {
        ledgerId: systemLedgerId,
        events: 1,
        hash: expect.stringMatching(/^[0-9a-f]{64}$/),
        ...nothing,
      },
      { ledgerId: projectId, events: 6, hash: last?.hash, ...nothing },
    ])
  })

  test('several are read at once, and reported in order', async () => {
    for (const name of ['q', 'r', 's', 't', 'u']) await createProject(store.store, name)
    const ledgers = await openLedgerReader(store.database.url)
    const reading = new Set<string>()
    let most = 0
    const watched = {
      ...ledgers,
      async ledgerHead(id: string) {
        reading.add(id)
        most = Math.max(most, reading.size)
        // The later a ledger is in the order, the sooner it is read.
        await delay(40 - 5 * reading.size)
        reading.delete(id)
        return ledgers.ledgerHead(id)
      },
    }
    const ids = (await Array.fromAsync(verifyLedgers(watched))).map(({ ledgerId }) => ledgerId)
    await ledgers.close()
    expect(most).toBe(4)
    expect(ids).toEqual([systemLedgerId, ...ids.slice(1).toSorted()])
    expect(ids).toHaveLength(7)
  })

  test('more ledgers and events than fit in a page are verified', async () => {
    for (let batch = 0; batch < 6; batch += 1) {
      const names = Array.from({ length: 100 }, (_, number) => `project-${batch}-${number}`)
      await Promise.all(names.map((name) => createProject(store.store, name)))
    }
    const all = await verdicts()
    expect(all).toHaveLength(602)
    expect(all[0]).toMatchObject({ events: 601 })
    expect(new Set(all.map(({ ledgerId }) => ledgerId)).size).toBe(602)
    expect(all.filter(({ broken }) => broken !== undefined)).toEqual([])
  })

  test('a ledger that grows during verification is not reported as broken', async () => {
    const ledgers = await openLedgerReader(store.database.url)
    const writing = Array.from({ length: 40 }, (_, number) => addKey(`key ${number}`))
    const found = await Promise.all(
      Array.from({ length: 40 }, async () => verifyLedger(ledgers, projectId)),
    )
    await Promise.all(writing)
    await ledgers.close()
    expect(found.filter(({ broken }) => broken !== undefined)).toEqual([])
  })
})

describe('a database', () => {
  test('is not created, and the reader has no method that writes', async () => {
    const missing = store.database.url.replace('pubring.db', 'not.db').replace('/t_', '/not_')
    await expect(openLedgerReader(missing)).rejects.toThrow(/no database (at|of this name)/)
    const ledgers = await openLedgerReader(store.database.url)
    expect(Object.keys(ledgers).sort()).toEqual([
      'close',
      'countEvents',
      'findProject',
      'headlessLedgerIds',
      'ledgerEntries',
      'ledgerHead',
      'ledgerIds',
      'ledgerRows',
      'subjects',
      'verifyTables',
    ])
    await ledgers.close()
  })
})
