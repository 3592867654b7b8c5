import { accessRuleTable } from '../../../packages/server/src/features/access-rules/stored.ts'
import { apiKeyTable } from '../../../packages/server/src/features/api-keys/stored.ts'
import { digestsOf, publish } from '../../../packages/server/src/features/keys/published/texts.ts'
import {
  type KeyRecord,
  keys,
  keyToRow,
} from '../../../packages/server/src/features/keys/stored.ts'
import { linkTable } from '../../../packages/server/src/features/registration-links/stored.ts'
import { rotationTable } from '../../../packages/server/src/features/rotations/stored.ts'
import { sessionTable } from '../../../packages/server/src/features/sign-in/stored.ts'
import {
  type EventContent,
  eventHash,
  type LedgerEvent,
} from '../../../packages/server/src/kernel/ledger/chain.ts'
import { eventToRow } from '../../../packages/server/src/kernel/ledger/stored.ts'
import { columnsOf } from '../../../packages/server/src/kernel/storage/schema.ts'
import type { TestDatabase } from './database.ts'
import type { FullRegistry } from './full-registry.ts'
import { keyRecord } from './key-records.ts'

/** A registry that a person with write access to its database alters. */
export interface TamperedRegistry extends FullRegistry {
  database: TestDatabase
  /** Read before the database is altered. */
  eventsOf(ledgerId: string): LedgerEvent[]
}

export interface Tampering {
  name: string
  tamper(registry: TamperedRegistry): Promise<unknown>
  /** `read`: each use of the row; `replay`: verification; `log`: only what was logged before. */
  caughtBy: 'read' | 'replay' | 'log'
  /** The subject that the replay names, with the member if there is one. */
  named?(registry: TamperedRegistry): { type: string; id: string; member?: string }
  /** Part of what the verification of the chain says instead. */
  broken?: RegExp
}

const update = (table: string, set: string) => `update ${table} set ${set} where id = ?`

const insertKey = ({ database }: TamperedRegistry, key: KeyRecord) =>
  insertRow(database, 'jwt_key', keyToRow(key))

async function insertRow(database: TestDatabase, table: string, members: object): Promise<void> {
  const row = Object.entries(members)
  const columns = row.map(([column]) => column).join(', ')
  const values = row.map(([, value]) => value as string | number | null)
  const marks = values.map(() => '?').join(', ')
  await database.execute(`insert into ${table} (${columns}) values (${marks})`, ...values)
}

/** Removes the last events of the project, and moves the head back. */
async function truncate({ database, eventsOf, projectId }: TamperedRegistry, count: number) {
  const events = eventsOf(projectId)
  const last = events.at(-1 - count)
  if (last === undefined) throw new Error('there are not that many events')
  await database.execute(
    'delete from event where project_id = ? and revision > ?',
    projectId,
    last.revision,
  )
  await database.execute(
    'update ledger set revision = ?, hash = ? where project_id = ?',
    last.revision,
    last.hash,
    projectId,
  )
}

/** Recomputes the chain of the project's ledger after an edit of its events. */
async function rewrite(
  { database, eventsOf, projectId }: TamperedRegistry,
  edit: (event: EventContent) => EventContent,
) {
  let hash = '0'.repeat(64)
  for (const event of eventsOf(projectId)) {
    const edited = edit(event)
    hash = eventHash(hash, edited)
    const set = 'update event set changes = ?, hash = ? where project_id = ? and revision = ?'
    const changes = JSON.stringify(edited.changes)
    await database.execute(set, changes, hash, projectId, event.revision)
  }
  await database.execute('update ledger set hash = ? where project_id = ?', hash, projectId)
}

const keyMember = (member?: string): Pick<Tampering, 'named'> => ({
  named: ({ key }) => ({ type: 'key', id: key.id, ...(member === undefined ? {} : { member }) }),
})
export const tamperings: Tampering[] = [
  {
    name: 'another key under the old kid, with all its hashes',
    async tamper(registry) {
      const { database, projectId, key } = registry
      await database.execute('delete from jwt_key where id = ?', key.id)
      const own = keyRecord(projectId)
      await insertKey(registry, { ...own, id: key.id, label: key.label })
    },
    caughtBy: 'read',
    ...keyMember('spkiSha256'),
  },
  {
    name: 'a key without an event',
    tamper: (registry) =>
      insertKey(registry, { ...keyRecord(registry.projectId), id: registry.otherProjectId }),
    caughtBy: 'read',
    named: ({ otherProjectId }) => ({ type: 'key', id: otherProjectId }),
  },
  {
    name: 'the tail removed and the head moved back, so that the rows are newer',
    tamper: (registry) => truncate(registry, 1),
    caughtBy: 'read',
    named: ({ inactive }) => ({ type: 'key', id: inactive.id, member: 'active' }),
  },
  {
    name: 'the tail removed, the head moved back and the row undone',
    async tamper(registry) {
      await truncate(registry, 1)
      const { inactive, database } = registry
      // As it was before its last event.
      const set = 'enabled = 1, end_time = null, update_time = ?, publish_time = ?'
      const { createTime } = inactive
      await database.execute(update('jwt_key', set), createTime, createTime, inactive.id)
      const keys = [registry.key, registry.second, { ...inactive, enabled: true }]
      const { list, jwks } = publish(keys, createTime, true)
      const row = 'update published_key_set set list = ?, jwks = ? where project_id = ?'
      await database.execute(row, list, jwks, registry.projectId)
    },
    caughtBy: 'log',
  },
  {
    name: 'an event, the row and the whole chain rewritten',
    async tamper(registry) {
      const { key } = registry
      const renamed = { ...key, label: 'mine' }
      await rewrite(registry, (event) =>
        event.subject.id === key.id
          ? {
              ...event,
              changes: { ...event.changes, label: { to: 'mine' }, ...keys.state(renamed) },
            }
          : event,
      )
      await registry.database.execute(update('jwt_key', "label = 'mine'"), key.id)
    },
    caughtBy: 'log',
  },
  {
    name: 'what is published, with the digests in an event of another change',
    async tamper({ database, eventsOf, projectId }) {
      const texts = publish([keyRecord(projectId)], '', true)
      const row = 'update published_key_set set list = ?, jwks = ? where project_id = ?'
      await database.execute(row, texts.list, texts.jwks, projectId)
      const last = eventsOf(projectId).at(-1)
      if (last === undefined) throw new Error('there is no event')
      const { hash: before, changes: _changes, label: _label, ...rest } = last
      const content: EventContent = {
        ...{ ...rest, revision: rest.revision + 1, type: 'token.used' },
        ...{ subject: { type: 'token', id: 'x' }, published: digestsOf(texts) },
      }
      const hash = eventHash(before, content)
      await insertRow(database, 'event', eventToRow({ ...content, hash }))
      const head = 'update ledger set revision = ?, hash = ? where project_id = ?'
      await database.execute(head, content.revision, hash, projectId)
    },
    caughtBy: 'replay',
    named: ({ projectId }) => ({ type: 'published_key_set', id: projectId, member: 'list' }),
  },
  {
    name: 'a key moved to another project',
    tamper: ({ database, key, otherProjectId }) =>
      database.execute(update('jwt_key', 'project_id = ?'), otherProjectId, key.id),
    caughtBy: 'read',
    ...keyMember(),
  },
  {
    name: 'the row of a key deleted',
    tamper: ({ database, key }) => database.execute('delete from jwt_key where id = ?', key.id),
    caughtBy: 'replay',
    ...keyMember(),
  },
  {
    name: 'the row of a project deleted',
    tamper: ({ database, projectId }) =>
      database.execute('delete from project where id = ?', projectId),
    caughtBy: 'replay',
    named: ({ projectId }) => ({ type: 'project', id: projectId }),
  },
  {
    name: 'the rename of a project truncated in its own ledger',
    async tamper(registry) {
      const other = { ...registry, projectId: registry.otherProjectId }
      await truncate(other, 1)
      const set = "name = 'orders', update_time = create_time"
      await registry.database.execute(update('project', set), other.projectId)
    },
    caughtBy: 'replay',
    named: ({ otherProjectId }) => ({ type: 'project', id: otherProjectId, member: 'name' }),
  },
  {
    name: 'a project without a ledger',
    tamper: ({ database }) =>
      insertRow(database, 'project', { id: 'x', name: 'mine', create_time: 'x', update_time: 'x' }),
    caughtBy: 'replay',
    broken: /the whole ledger is missing/,
  },
  ...[apiKeyTable, accessRuleTable, sessionTable, rotationTable, linkTable].map(
    (table): Tampering => ({
      name: `a row inserted into ${table.name}`,
      tamper({ database, otherProjectId }) {
        const columns = columnsOf(table)
          .filter((column) => !['id', 'digest', 'session_digest'].includes(column))
          .map((column) => `"${column}"`)
        const digest = table === apiKeyTable || table === sessionTable || table === linkTable
        return database.execute(
          `insert into ${table.name} (id, ${digest ? 'digest, ' : ''}${columns})
           select ?, ${digest ? "'d', " : ''}${columns} from ${table.name} limit 1`,
          otherProjectId,
        )
      },
      caughtBy: 'read',
      named: ({ otherProjectId }) => ({ type: table.name, id: otherProjectId }),
    }),
  ),
  {
    name: 'the row and its event, without the chain',
    async tamper({ database, eventsOf, inactive, projectId }) {
      await database.execute(update('jwt_key', 'enabled = 1'), inactive.id)
      const events = eventsOf(projectId)
      const last = events.filter(({ subject }) => subject.id === inactive.id).at(-1)
      const changes = {
        active: { from: false, to: true },
        ...keys.state({ ...inactive, enabled: true }),
      }
      await database.execute(
        'update event set changes = ? where project_id = ? and revision = ?',
        JSON.stringify(changes),
        projectId,
        Number(last?.revision),
      )
    },
    caughtBy: 'replay',
    named: ({ inactive }) => ({ type: 'key', id: inactive.id, member: 'state' }),
    broken: /was altered or moved/,
  },
  {
    name: 'a blocked fingerprint deleted',
    tamper: ({ database, exposed }) =>
      database.execute('delete from blocked_fingerprint where fingerprint = ?', exposed),
    caughtBy: 'replay',
    named: ({ exposed }) => ({ type: 'blocked_fingerprint', id: exposed }),
  },
]
