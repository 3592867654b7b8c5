import { genesisHash } from '@pubring/client/internal/log/chain'
import { expect, test } from 'vitest'
import { verifyLedgers } from '../../../packages/server/src/kernel/ledger/all-ledgers.ts'
import {
  type EventChanges,
  eventAbout,
  eventHash,
  systemLedgerId,
} from '../../../packages/server/src/kernel/ledger/chain.ts'
import type { LedgerEntry } from '../../../packages/server/src/kernel/ledger/verification.ts'
import { newId } from '../../../packages/server/src/kernel/values/ids.ts'

const projectId = newId()

type ProjectEvent = [verb: string, changes: EventChanges]

const created: ProjectEvent = ['created', { name: { to: 'payments' } }]

/** An intact ledger with these events about the project. */
function ledgerOf(ledgerId: string, events: ProjectEvent[]): LedgerEntry[] {
  let hash = genesisHash
  return events.map(([verb, changes], index) => {
    const event = eventAbout(`project.${verb}`, projectId, changes)
    const revision = index + 1
    const actor = { name: 'test' }
    const time = '2026-01-02T03:04:05.678Z'
    const content = { ledgerId, revision, time, actor, requestId: newId(), ...event }
    hash = eventHash(hash, content)
    return { revision, hash, content }
  })
}

async function differences(inSystem: ProjectEvent[], own: ProjectEvent[]): Promise<string[]> {
  const ledgers = new Map([
    [systemLedgerId, ledgerOf(systemLedgerId, inSystem)],
    [projectId, ledgerOf(projectId, own)],
  ])
  const entriesOf = (id: string) => ledgers.get(id) ?? []
  const verdicts = await Array.fromAsync(
    verifyLedgers({
      subjects: [],
      ledgerIds: async () => [...ledgers.keys()],
      headlessLedgerIds: async () => [],
      async ledgerHead(id) {
        const { length: events } = entriesOf(id)
        return { revision: events, hash: String(entriesOf(id).at(-1)?.hash), events }
      },
      countEvents: async () => inSystem.length + own.length,
      ledgerEntries: async (id, { after }) => entriesOf(id).slice(after),
      verifyTables: async () => [],
      ledgerRows: async () => new Map(),
    }),
  )
  expect(verdicts.map(({ broken }) => broken)).toEqual([undefined, undefined])
  return verdicts.flatMap((verdict) => verdict.differences.map(({ detail }) => detail))
}

test('an event that does not change the name of a project leaves it as it is', async () => {
  const changed: ProjectEvent = ['updated', { limit: { to: 5 } }]
  expect(await differences([created, changed], [created, changed])).toEqual([])
  expect(await differences([created], [created, changed])).toEqual([])
})

test('another name in the ledger of the project than in that of the system is found', async () => {
  const renamed: ProjectEvent = ['renamed', { name: { from: 'payments', to: 'billing' } }]
  expect(await differences([created], [created, renamed])).toEqual([
    `project ${projectId}: name: the system ledger says payments, its own ledger billing`,
  ])
  const deleted: ProjectEvent = ['deleted', { name: { from: 'payments' } }]
  expect(await differences([created, deleted], [created, deleted])).toEqual([])
})
