import type { Transaction } from '../../../kernel/changes.ts'
import {
  type NewEvent,
  type PublishedDigests,
  parsePublished,
} from '../../../kernel/ledger/chain.ts'
import { noteOf } from '../../../kernel/ledger/contradictions.ts'
import { appendEvents, type LockedLedger } from '../../../kernel/ledger/locked-ledger.ts'
import type { AnySubject } from '../../../kernel/ledger/subject.ts'
import { type Db, type RowOf, table } from '../../../kernel/storage/schema.ts'
import { pipeline, statement } from '../../../kernel/storage/statements.ts'
import type { KeyRecord } from '../stored.ts'
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

/** The columns of a query that joins the row, if there is one, with the last event of its ledger. */
export type PublishedColumns = {
  [Column in keyof PublishedRow as Exclude<Column, 'project_id'>]: PublishedRow[Column] | null
} & { published: string | null }

/** The texts of a row that are those of the last event; and of any row, whether it had keys. */
export interface StoredTexts {
  /** Absent if they are not: nothing of the row is used. */
  texts?: PublishedTexts
  /** Whether a key of the project was ever in `jwks.json`, as far as this is known. */
  hadKeys(): boolean
}

/** Compares a row with the last event of its ledger. */
export function checkTexts(
  db: Db,
  ledgerId: string,
  { list, jwks, jwks_full: jwksFull, published }: PublishedColumns,
): StoredTexts {
  const digests = parsePublished(published)
  const texts =
    list === null || jwks === null ? undefined : { list, jwks, jwksFull: jwksFull ?? jwks }
  const found = texts && digestsOf(texts)
  const isSame =
    found?.list === digests?.list &&
    found?.jwks === digests?.jwks &&
    found?.jwksFull === digests?.jwksFull
  noteOf(db)?.({ ledgerId, subject: `${publishedKeySets.name} ${ledgerId}` }, !isSame)
  if (texts !== undefined && isSame) return { texts, hadKeys: () => hadKeysIn(texts) }
  return { hadKeys: () => digests?.list !== nothing.list }
}

const nothing = digestsOf(nothingPublished)

const selectStored = statement((db, { projectId }: { projectId: string }) =>
  db
    .selectFrom('published_key_set')
    .select(['list', 'jwks', 'jwks_full'])
    // SQLite reads all events of the project for a join.
    .select(({ selectFrom }) =>
      selectFrom('event')
        .select('event.published')
        .where('event.project_id', '=', projectId)
        .orderBy('event.revision', 'desc')
        .limit(1)
        .as('published'),
    )
    .where('project_id', '=', projectId),
)

/** What a project publishes, read under its lock. */
export async function readStoredTexts(db: Db, projectId: string): Promise<StoredTexts> {
  const [row] = await selectStored(db, { projectId })
  return checkTexts(
    db,
    projectId,
    row ?? { list: null, jwks: null, jwks_full: null, published: null },
  )
}

const upsert = statement((db, row: PublishedRow) =>
  db
    .insertInto('published_key_set')
    .values(row)
    .onConflict((conflict) =>
      conflict.column('project_id').doUpdateSet(({ ref }) => ({
        list: ref('excluded.list'),
        jwks: ref('excluded.jwks'),
        jwks_full: ref('excluded.jwks_full'),
      })),
    ),
)

/** Stores the row, and returns the digests for the event of the transaction. */
export async function storeTexts(
  db: Db,
  projectId: string,
  texts: PublishedTexts,
): Promise<PublishedDigests> {
  await upsert(db, publishedToRow(projectId, texts))
  return digestsOf(texts)
}

export function publishedToRow(
  projectId: string,
  { list, jwks, jwksFull }: PublishedTexts,
): PublishedRow {
  const jwks_full = jwksFull === jwks ? null : jwksFull
  return { project_id: projectId, list, jwks, jwks_full }
}

/** Appends the events of a change of keys, with what the project publishes from then on. */
export async function appendPublished(
  ledger: LockedLedger,
  texts: PublishedTexts,
  events: readonly NewEvent[],
): Promise<void> {
  const { db, ledgerId } = ledger
  const digests = digestsOf(texts)
  await pipeline(
    db,
    () => upsert(db, publishedToRow(ledgerId, texts)),
    () => appendEvents(ledger, events, digests),
  )
}

/** The same for a change after which the project has these keys. */
export async function appendKeyEvents(
  ledger: LockedLedger,
  keys: readonly KeyRecord[],
  events: readonly NewEvent[],
): Promise<void> {
  const { hadKeys } = await readStoredTexts(ledger.db, ledger.ledgerId)
  await appendPublished(ledger, publish(keys, ledger.origin.time, hadKeys()), events)
}

/** A project that is created publishes an empty key set. */
export function publishNothing({ db }: Transaction, projectId: string): Promise<PublishedDigests> {
  return storeTexts(db, projectId, nothingPublished)
}

/** A deleted project publishes nothing. */
export async function withdraw({ db }: Transaction, projectId: string): Promise<void> {
  await db.deleteFrom('published_key_set').where('project_id', '=', projectId).execute()
}

export const publishedKeySets: AnySubject = {
  name: 'published_key_set',
  table: publishedKeySetTable,
  scope: 'project',
  eventTypes: [],
  effects: ({ ledgerId: id, type, published }) => {
    if (type === 'project.deleted') return [{ id, action: 'delete', changes: {} }]
    if (published === undefined) return []
    const { list, jwks, jwksFull } = published
    return [
      {
        id,
        action: 'set',
        changes: { list: { to: list }, jwks: { to: jwks }, jwksFull: { to: jwksFull } },
      },
    ]
  },
  async rowsOf(db, ledgerId) {
    const rows = await db
      .selectFrom('published_key_set')
      .select(['list', 'jwks', 'jwks_full'])
      .where('project_id', '=', ledgerId)
      .execute()
    return rows.map(({ list, jwks, jwks_full }) => ({
      id: ledgerId,
      members: { ...digestsOf({ list, jwks, jwksFull: jwks_full ?? jwks }) },
    }))
  },
  // The rows of the project are accepted first; `acceptPublished` writes this one.
  accept: async () => [],
}
