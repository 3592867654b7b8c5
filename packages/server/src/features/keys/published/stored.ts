import type { Transaction } from '../../../kernel/changes.ts'
import type { Hooks } from '../../../kernel/hooks.ts'
import type { Members, NewEvent, PublishedDigests } from '../../../kernel/ledger/chain.ts'
import { noteOf } from '../../../kernel/ledger/contradictions.ts'
import {
  appendEvents,
  type LockedLedger,
  lastEvent,
  provenDigests,
} from '../../../kernel/ledger/locked-ledger.ts'
import type { AccountedRow, AnySubject } from '../../../kernel/ledger/subject.ts'
import { oneFor } from '../../../kernel/shared.ts'
import { type Db, type RowOf, table } from '../../../kernel/storage/schema.ts'
import { pipeline, replacement, statement } from '../../../kernel/storage/statements.ts'
import { type KeyRecord, keys } from '../stored.ts'
import { digestsOf, hadKeysIn, nothingPublished, type PublishedTexts, publish } from './texts.ts'

/** What each project publishes: it has a row from its creation on. */
export const publishedKeySetTable = table('published_key_set', {
  project_id: 'key text',
  list: 'text',
  jwks: 'text',
  /** Null if it is the same as `jwks`. */
  jwks_full: 'nullable text',
})

type PublishedRow = RowOf<typeof publishedKeySetTable>

declare module '../../../kernel/storage/schema.ts' {
  interface Tables {
    published_key_set: PublishedRow
  }
}

/** The columns of a query that joins the row, if there is one. */
type PublishedColumns = {
  [Column in keyof PublishedRow as Exclude<Column, 'project_id'>]: PublishedRow[Column] | null
}

/** The texts of a row that are those of the last event; and of any row, whether it had keys. */
export interface StoredTexts {
  /** Absent if they are not: nothing of the row is used. */
  texts?: PublishedTexts
  /** The digests of the texts. */
  digests?: PublishedDigests
  /** Whether a key of the project was ever in `jwks.json`, as far as this is known. */
  hadKeys(): boolean
}

/** Compares the row of a project with the last event of its ledger. */
export function checkTexts(
  db: Db,
  ledgerId: string,
  { list, jwks, jwks_full: jwksFull }: PublishedColumns,
  digests: PublishedDigests | undefined,
): StoredTexts {
  const texts =
    list === null || jwks === null ? undefined : { list, jwks, jwksFull: jwksFull ?? jwks }
  const found = texts && digestsOf(texts)
  const isSame =
    found !== undefined &&
    found.list === digests?.list &&
    found.jwks === digests.jwks &&
    found.jwksFull === digests.jwksFull
  noteOf(db)?.({ ledgerId, subject: `${publishedKeySets.name} ${ledgerId}` }, !isSame)
  if (texts !== undefined && isSame) return { texts, digests, hadKeys: () => hadKeysIn(texts) }
  return { hadKeys: () => digests?.list !== nothing.list }
}

const nothing = digestsOf(nothingPublished)

const selectStored = statement((db, { projectId, known }: { projectId: string; known: string }) =>
  lastEvent(db, projectId)
    .where(
      ({ selectFrom }) =>
        selectFrom('ledger').select('ledger.hash').where('project_id', '=', projectId),
      '<>',
      known,
    )
    .leftJoin('published_key_set', 'published_key_set.project_id', 'event.project_id')
    .select(['list', 'jwks', 'jwks_full']),
)

/** What a project publishes, read under its lock; nothing is read if its head has the hash `known`. */
export async function readStoredTexts(db: Db, projectId: string, known = ''): Promise<StoredTexts> {
  const [row] = await selectStored(db, { projectId, known })
  return row === undefined
    ? { hadKeys: () => false }
    : checkTexts(db, projectId, row, provenDigests(row))
}

const put = replacement(publishedKeySetTable)

/** Stores the row, and returns the digests for the event of the transaction. */
export async function storeTexts(
  db: Db,
  projectId: string,
  texts: PublishedTexts,
): Promise<PublishedDigests> {
  await put(db, [publishedToRow(projectId, texts)])
  return digestsOf(texts)
}

export function publishedToRow(
  projectId: string,
  { list, jwks, jwksFull }: PublishedTexts,
): PublishedRow {
  const jwks_full = jwksFull === jwks ? null : jwksFull
  return { project_id: projectId, list, jwks, jwks_full }
}

/** Projects whose texts are remembered, and characters of the texts of each: 10 MB at most. */
const maxRemembered = 300
const maxLength = 33_000

/** What a change of this process published, and the hash of its last event, which has the digests. */
interface Remembered extends Required<StoredTexts> {
  hash: string
}

/**
 * What changes of this process published last. As long as the event is the last one of its ledger, neither
 * the row nor the event need be read and compared.
 */
const remembered = oneFor((_hooks: Hooks) => new Map<string, Remembered>())

/** What this process published last of a project; it is current if the head still has this hash. */
export function recallTexts({ hooks }: Transaction, projectId: string): Remembered | undefined {
  return remembered(hooks).get(projectId)
}

/** Appends the events of a change of keys, with what the project publishes from then on. */
export async function appendPublished(
  { hooks }: Transaction,
  ledger: LockedLedger,
  texts: PublishedTexts,
  events: readonly NewEvent[],
): Promise<void> {
  const { db, ledgerId } = ledger
  const digests = digestsOf(texts)
  const [, hash] = await pipeline(
    db,
    () => put(db, [publishedToRow(ledgerId, texts)]),
    () => appendEvents(ledger, events, digests),
  )
  const all = remembered(hooks)
  all.delete(ledgerId)
  for (const oldest of all.keys().take(all.size < maxRemembered ? 0 : 1)) all.delete(oldest)
  if (texts.list.length + texts.jwks.length + texts.jwksFull.length > maxLength) return
  all.set(ledgerId, { hash, texts, digests, hadKeys: () => hadKeysIn(texts) })
}

/** The same for a change after which the project has these keys. Without an event of a key nothing changes. */
export async function appendKeyEvents(
  tx: Transaction,
  ledger: LockedLedger,
  keys: readonly KeyRecord[],
  events: readonly NewEvent[],
): Promise<void> {
  if (events.some(({ type }) => type.startsWith('key.'))) {
    const { hadKeys } = await readStoredTexts(ledger.db, ledger.ledgerId)
    await appendPublished(tx, ledger, publish(keys, ledger.origin.time, hadKeys()), events)
  } else await appendEvents(ledger, events)
}

/** A project that is created publishes an empty key set. */
export function publishNothing({ db }: Transaction, projectId: string): Promise<PublishedDigests> {
  return storeTexts(db, projectId, nothingPublished)
}

/** A deleted project publishes nothing. */
export async function withdraw({ db }: Transaction, projectId: string): Promise<void> {
  await db.deleteFrom('published_key_set').where('project_id', '=', projectId).execute()
}

/** The digests, and whether `jwks.json` has an entry: once it has had one, it always does. */
function membersOf(digests: PublishedDigests): Members {
  return { ...digests, ...(digests.jwks !== nothing.jwks && { hadKeys: true }) }
}

/**
 * The row with its digests, which events repeat, and compared with the keys, which the replay compares with
 * their own events: it has those that were active at the time of the last event of a key.
 */
async function accountFor(db: Db, id: string, texts: PublishedTexts): Promise<AccountedRow> {
  const found = await keys.readUnchecked(db, (all) =>
    all.where('project_id', '=', id).orderBy('create_time').orderBy('id'),
  )
  const last = await db
    .selectFrom('event')
    .select('time')
    .where('project_id', '=', id)
    .where('type', 'like', 'key.%')
    .orderBy('revision', 'desc')
    .limit(1)
    .executeTakeFirst()
  const members = membersOf(digestsOf(texts))
  const { list, jwks, jwksFull } = publish(found, last?.time ?? '', members.hadKeys === true)
  const isSame = list === texts.list && jwks === texts.jwks && jwksFull === texts.jwksFull
  const damage = { member: 'list', detail: 'it is not that of the active keys' }
  return { id, members, damage: isSame ? undefined : damage }
}

export const publishedKeySets: AnySubject = {
  name: 'published_key_set',
  table: publishedKeySetTable,
  isComparedAtRead: true,
  scope: 'project',
  eventTypes: [],
  effects: ({ ledgerId: id, type, published }) => {
    if (type === 'project.deleted') return [{ id, action: 'delete', changes: {} }]
    if (published === undefined) return []
    const changes = Object.entries(membersOf(published)).map(([name, to]) => [name, { to }])
    // A change keeps `hadKeys` of earlier events.
    return [{ id, action: 'change', changes: Object.fromEntries(changes) }]
  },
  async rowsOf(db, ledgerId) {
    const rows = await db
      .selectFrom('published_key_set')
      .select(['list', 'jwks', 'jwks_full'])
      .where('project_id', '=', ledgerId)
      .execute()
    return Promise.all(
      rows.map(({ list, jwks, jwks_full }) =>
        accountFor(db, ledgerId, { list, jwks, jwksFull: jwks_full ?? jwks }),
      ),
    )
  },
  // The rows of the project are accepted first; `acceptKeySet` writes this one.
  accept: async () => [],
}
