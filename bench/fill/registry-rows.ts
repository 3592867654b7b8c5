import type { Insertable } from 'kysely'
import { genesisHash } from '../../packages/client/src/log/chain.ts'
import type { Accepted } from '../../packages/intake/src/types.ts'
import { publishedToRow } from '../../packages/server/src/features/keys/published/stored.ts'
import {
  digestsOf,
  nothingPublished,
  publish,
} from '../../packages/server/src/features/keys/published/texts.ts'
import {
  type KeyRecord,
  keyToRow,
  keys as stored,
} from '../../packages/server/src/features/keys/stored.ts'
import { projects } from '../../packages/server/src/kernel/access/stored-projects.ts'
import type { Origin } from '../../packages/server/src/kernel/changes.ts'
import { type EventContent, eventHash } from '../../packages/server/src/kernel/ledger/chain.ts'
import { eventToRow } from '../../packages/server/src/kernel/ledger/stored.ts'
import type { Row } from '../../packages/server/src/kernel/storage/copy.ts'
import type { TableName, Tables } from '../../packages/server/src/kernel/storage/schema.ts'
import { newId } from '../../packages/server/src/kernel/values/ids.ts'

/** The last event of a ledger, which the next one is chained to. */
export interface LedgerHead {
  ledgerId: string
  revision: number
  hash: string
}

export type RegistryRows = Pick<
  Record<TableName, Row[]>,
  'project' | 'ledger' | 'event' | 'jwt_key' | 'published_key_set'
>

export interface NewProject {
  name: string
  keys: readonly Accepted[]
  origin: Origin
}

export const noRows = (): RegistryRows => ({
  project: [],
  ledger: [],
  event: [],
  jwt_key: [],
  published_key_set: [],
})

/**
 * Adds the rows that `storage/changes` would write for a new project and its keys, including the
 * chained events in both ledgers.
 */
export function addProject(rows: RegistryRows, system: LedgerHead, project: NewProject): void {
  const { name, keys, origin } = project
  const id = newId()
  const { time, actor, requestId } = origin
  const own: LedgerHead = { ledgerId: id, revision: 0, hash: genesisHash }
  const created = { time, actor, requestId, type: 'project.created' } as const
  const subject = { type: 'project', id } as const
  const record = { id, name, createTime: time, updateTime: time }
  const changes = projects.changes(undefined, record)
  append(rows, system, { ...created, subject, changes })
  append(rows, own, { ...created, subject, changes, published: digestsOf(nothingPublished) })
  const row: Insertable<Tables['project']> = { id, name, create_time: time, update_time: time }
  rows.project.push(asRow(row))
  const records = keys.map((key, index) => recordOf(id, `key ${index + 1}`, key, time))
  const texts = publish(records, time, false)
  const published = digestsOf(texts)
  rows.published_key_set.push(asRow(publishedToRow(id, texts)))
  for (const key of records) {
    rows.jwt_key.push(asRow(keyToRow(key)))
    append(rows, own, {
      time,
      actor,
      requestId,
      type: 'key.created',
      subject: { type: 'key', id: key.id },
      changes: stored.changes(undefined, key),
      published,
    })
  }
  const { revision, hash } = own
  const last: Insertable<Tables['ledger']> = { project_id: id, revision, hash }
  rows.ledger.push(asRow(last))
}

function append(
  rows: RegistryRows,
  head: LedgerHead,
  content: Omit<EventContent, 'ledgerId' | 'revision'>,
): void {
  head.revision += 1
  const event = { ...content, ledgerId: head.ledgerId, revision: head.revision }
  head.hash = eventHash(head.hash, event)
  rows.event.push(asRow(eventToRow({ ...event, hash: head.hash })))
}

/** The record of an accepted key, as `features/keys/operations.ts` makes it. */
export function recordOf(
  projectId: string,
  label: string,
  accepted: Accepted,
  time: string,
): KeyRecord {
  const { publicKeyPem, jwk, thumbprint, spkiSha256, materialSha256 } = accepted.key
  return {
    id: newId(),
    projectId,
    label,
    algorithm: 'ES256',
    enabled: true,
    createTime: time,
    updateTime: time,
    publishTime: time,
    publicKeyPem,
    jwsAlgorithm: accepted.jwsAlgorithm,
    jwk,
    thumbprint,
    spkiSha256,
    materialSha256,
    normalised: accepted.normalised,
  }
}

/** Missing columns become null. */
function asRow(values: Record<string, string | number | null | undefined>): Row {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, value ?? null]))
}
