import { beforeEach, expect, test } from 'vitest'
import { keyChanges } from '../../../packages/server/src/features/keys/changes.ts'
import { projectChanges } from '../../../packages/server/src/features/projects/changes.ts'
import { verifyLedgers } from '../../../packages/server/src/kernel/ledger/all-ledgers.ts'
import { systemLedgerId } from '../../../packages/server/src/kernel/ledger/chain.ts'
import { eventTable } from '../../../packages/server/src/kernel/ledger/stored.ts'
import { columnsOf } from '../../../packages/server/src/kernel/storage/schema.ts'
import { openLedgerReader, openStore } from '../../../packages/server/src/registry.ts'
import { createDatabase, type TestDatabase } from '../../support/store/database.ts'
import { keyRecord } from '../../support/store/key-records.ts'
import { createProject, limits, origin } from '../../support/store/store.ts'

let database: TestDatabase

const original = await createDatabase()
const store = await openStore(original.url)
/** A project with six events, and a deleted one with two. */
const projectId = (await createProject(store, 'payments')).id
const deletedId = (await createProject(store, 'short-lived')).id
await store.commit(projectChanges.deleteProject, { origin: origin(), projectId: deletedId })
for (const label of ['a', 'b', 'c', 'd', 'e']) {
  const key = keyRecord(projectId, { label })
  await store.commit(keyChanges.createKey, { origin: origin(), key, limits })
}
await store.close()

beforeEach(async () => {
  database = await original.copy()
})

type Statement = [text: string, ...values: (string | number)[]]

/** Alters the database behind the server's back. */
async function tamper(...[statement, ...values]: Statement): Promise<void> {
  expect(await database.execute(statement, ...values)).toBeGreaterThan(0)
}

/** The only break; the other ledgers are intact. */
async function findOnlyBreak() {
  const ledgers = await openLedgerReader(database.url)
  const verdicts = await Array.fromAsync(verifyLedgers(ledgers))
  await ledgers.close()
  expect(verdicts).toHaveLength(3)
  const broken = verdicts.filter((verdict) => verdict.broken !== undefined)
  expect(broken).toHaveLength(1)
  return { ledgerId: broken[0]?.ledgerId, ...broken[0]?.broken }
}

const at = 'where project_id = ? and revision = ?'
const edited = (set: string, ledgerId = projectId, revision = 4): Statement => [
  `update event set ${set} ${at}`,
  ledgerId,
  revision,
]
const moved = (from: number, to: number) => edited(`revision = ${to}`, projectId, from)
const copied = (revision: number): Statement => [
  `insert into event (${columnsOf(eventTable)}) select
   ${columnsOf(eventTable).map((name) => (name === 'revision' ? revision : name))} from event ${at}`,
  projectId,
  6,
]
const removed = (ledgerId: string): Statement[] => [
  ['delete from event where project_id = ?', ledgerId],
  ['delete from ledger where project_id = ?', ledgerId],
]
const head = (set: string): Statement => [
  `update ledger set ${set} where project_id = ?`,
  projectId,
]

const wasAltered = expect.stringMatching(/^event 4 \(key\.created, .*\) was altered or moved/)
const isUnreadable = 'event 4 was altered: it cannot be read'

/** Alterations, each with the break that it causes: in the ledger of the project unless it says otherwise. */
const alterations: [name: string, statements: Statement[], expected: object][] = [
  ['an edited event', [edited("actor_name = 'nobody'")], { revision: 4, detail: wasAltered }],
  ['an event without its changes', [edited('changes = null')], { revision: 4 }],
  ...Object.entries({
    'an empty text': '',
    'half of an object': '{',
    'an array': '[]',
    'a number': '7',
    'changes that are numbers': '{"a":1}',
    'changes to arrays': '{"a":{"to":[]}}',
    '200,000 brackets': '['.repeat(200_000),
  }).map(([name, changes]): [string, Statement[], object] => [
    `${name} as changes`,
    [edited(`changes = '${changes}'`)],
    { revision: 4, detail: isUnreadable },
  ]),
  [
    'an event of the system',
    [edited("time = '2020-01-01'", systemLedgerId, 1)],
    { ledgerId: systemLedgerId, revision: 1 },
  ],
  [
    'an event of a deleted project',
    [edited("actor_name = 'x'", deletedId, 2)],
    { ledgerId: deletedId, revision: 2 },
  ],
  ...(
    [
      [1, 'event 1 is missing: the one that follows has the revision 2'],
      [4, 'event 4 is missing: the one that follows has the revision 5'],
      [6, 'event 6 is missing: the head says 6, the last event is 5'],
    ] as const
  ).map(([revision, detail]): [string, Statement[], object] => [
    `a deleted event, ${revision}`,
    [[`delete from event ${at}`, projectId, revision]],
    { revision, detail },
  ]),
  [
    'deleted last events',
    [['delete from event where project_id = ? and revision > 3', projectId]],
    { revision: 4, detail: 'the last events are missing: the head says 6, the last event is 3' },
  ],
  [
    'deleted events, all of them',
    [['delete from event where project_id = ?', projectId]],
    { revision: 1 },
  ],
  ['two swapped events', [moved(3, 99), moved(4, 3), moved(99, 4)], { revision: 3 }],
  [
    'a deleted event, and the gap closed',
    [
      [`delete from event ${at}`, projectId, 3],
      ...[4, 5, 6].map((revision) => moved(revision, revision - 1)),
      head('revision = 5'),
    ],
    { revision: 3 },
  ],
  ['an added event', [copied(7)], {}],
  ['an event added before the first', [copied(-1)], {}],
  [
    'a head with another hash',
    [head(`hash = '${'0'.repeat(64)}'`)],
    {
      revision: 6,
      detail: expect.stringContaining(`the head was altered: its hash is ${'0'.repeat(64)}`),
    },
  ],
  [
    'a head that is behind',
    [head('revision = 5')],
    { detail: 'the head was altered: it says revision 5, the last event is 6' },
  ],
  [
    'a head that is ahead',
    [head('revision = 7')],
    { detail: 'event 7 is missing: the head says 7, the last event is 6' },
  ],
  [
    'a deleted head',
    removed(projectId).slice(1),
    { revision: 6, detail: 'the head of the ledger is missing' },
  ],
  ['the deleted ledger of the system', removed(systemLedgerId), { ledgerId: systemLedgerId }],
  [
    'the deleted ledger of a project that the system’s ledger has recorded',
    removed(projectId),
    { revision: 0, detail: 'the whole ledger is missing' },
  ],
]

test.each(alterations)('%s: found', async (_name, statements, expected) => {
  for (const statement of statements) await tamper(...statement)
  expect(await findOnlyBreak()).toMatchObject({ ledgerId: projectId, ...expected })
})

test('an edited event with a recomputed hash is found at the next event', async () => {
  await tamper(...edited("actor_name = 'nobody'"))
  const { detail } = await findOnlyBreak()
  const [, hash = ''] = /give the hash (\w+)/.exec(detail ?? '') ?? []
  await tamper(...edited(`hash = '${hash}'`))
  expect(await findOnlyBreak()).toMatchObject({ ledgerId: projectId, revision: 5 })
})

test('a revision that is not an integer is found, where a column can hold one', async () => {
  const edit = edited("revision = 'x'", projectId, 6)
  if (database.engine === 'postgres') {
    await expect(tamper(...edit)).rejects.toThrow(/bigint/)
    return
  }
  await tamper(...edit)
  expect(await findOnlyBreak()).toMatchObject({ ledgerId: projectId, revision: 6 })
})
