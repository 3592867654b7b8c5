import { requireRecentSignIn } from '../../../kernel/access/authorization.ts'
import type { Outcome, Transaction } from '../../../kernel/changes.ts'
import { faultsOf, itemFaults, notFound } from '../../../kernel/faults.ts'
import type { EventChanges, NewEvent } from '../../../kernel/ledger/chain.ts'
import { type LockedLedger, lockProjectLedger } from '../../../kernel/ledger/locked-ledger.ts'
import { firstUse, tokenDigest } from '../../../kernel/ledger/token-uses.ts'
import type { Db } from '../../../kernel/storage/schema.ts'
import {
  chunked,
  hasOtherWriters,
  insertion,
  pipeline,
  statement,
} from '../../../kernel/storage/statements.ts'
import type { ImportResult, KeyCreation, KeyImport, KeyToImport } from '../changes.ts'
import { lockFingerprints } from '../exposure/fingerprints.ts'
import { introducedByLink } from '../introduction.ts'
import type { KidUse } from '../kids.ts'
import {
  appendPublished,
  readStoredTexts,
  recallTexts,
  type StoredTexts,
} from '../published/stored.ts'
import { type PublishedTexts, publish, publishToo } from '../published/texts.ts'
import { compareAge, oldestFirst, readKeySet } from '../reads.ts'
import { requireSuccessor } from '../states.ts'
import { hasKey, type KeyRecord, keyPartFromRow, keyToRow, keys as records } from '../stored.ts'
import { type Admission, type AdmissionKey, admitKeys } from './admission.ts'

const insertKeys = insertion('jwt_key')

/** Registers one key, as an import of one does; the project must not have it. */
export async function createKey(
  tx: Transaction,
  { key, limits, origin }: KeyCreation,
): Promise<Outcome<KeyRecord>> {
  const keys = [{ index: 0, key, kidProvided: false }]
  const { projectId } = key
  const change = { origin, projectId, keys, limits, compared: [], dryRun: false }
  const { created, refused } = await registerKeys(tx, change, { rejectsTwins: true })
  const [record] = created
  if (record === undefined) throw refused[0]?.error ?? new Error('a key without an outcome')
  return { result: record, changed: true }
}

/**
 * Registers all keys or none. Rejections are in the result instead of an error, since the caller
 * adds its own to them. Each created key gets an event, as if it were registered alone.
 */
export async function importKeys(
  tx: Transaction,
  change: KeyImport,
): Promise<Outcome<ImportResult>> {
  const { items, created, refused, room } = await registerKeys(tx, change, { rejectsTwins: false })
  const rejected = refused.flatMap(({ index, error }) => itemFaults(index, faultsOf(error)))
  const changed = !change.dryRun && rejected.length === 0 && created.length > 0
  return { result: { items, rejected, room }, changed }
}

/**
 * Admits the keys, and stores them unless one is refused. For a compromised key, which is so for good, a session
 * must have a recent sign-in.
 */
async function registerKeys(
  tx: Transaction,
  change: KeyImport,
  { rejectsTwins }: { rejectsTwins: boolean },
): Promise<Admission> {
  const { db } = tx
  const { origin, projectId, limits, compared, dryRun } = change
  const submitted = change.keys.map(({ key }) => key)
  const kids = change.keys.filter(({ kidProvided }) => kidProvided).map(({ key }) => key.id)
  const recalled = recallTexts(tx, projectId)
  const [ledger, existing, read, lock] = await pipeline(
    db,
    () => lockProjectLedger(tx, projectId, origin),
    () => readKeysForAdmission(db, projectId),
    // PostgreSQL gets this read with the others; after the lock it would take a round trip of its own.
    async () => (hasOtherWriters(db) ? readStoredTexts(db, projectId, recalled?.hash) : undefined),
    () => lockFingerprints(db, { keys: submitted, kids }, origin.time),
  )
  if (existing === undefined) throw notFound('project_not_found')
  const { keys, use } = await withIntroducer(ledger, change.keys)
  const publishedKids = submitted.flatMap(({ publishedKid }) => publishedKid ?? [])
  const admission = admitKeys(existing, keys, {
    limits,
    now: origin.time,
    blocked: lock.blocked,
    kidUse: await readKidUse(db, projectId, [...kids, ...publishedKids]),
    compared: new Set(compared),
    rejectsTwins,
    link: ledger.caller?.link,
  })
  const { created, refused } = admission
  if (dryRun || refused.length > 0 || created.length === 0) {
    await lock.unlock()
    return admission
  }
  if (created.some(({ endReason }) => endReason === 'compromised')) requireRecentSignIn(ledger)
  const isCurrent = recalled?.hash === ledger.previousHash
  const before = isCurrent ? recalled : (read ?? (await readStoredTexts(db, projectId)))
  const texts = await publishWith(db, existing, before, created, origin.time)
  const events = created.map((key) => records.eventOf('created', key))
  await pipeline(
    db,
    () => lock.unlock(),
    () => insertKeys(db, created.map(keyToRow)),
    () => reservePublishedKids(db, created),
    () => appendPublished(tx, ledger, texts, [...use, ...events]),
  )
  return admission
}

/**
 * What the project publishes once these keys are created. They join what is published, so that no
 * row is used that has not been compared with its event; unless some belong in front of others.
 */
async function publishWith(
  db: Db,
  existing: readonly AdmissionKey[],
  { texts, hadKeys }: StoredTexts,
  created: readonly KeyRecord[],
  now: string,
): Promise<PublishedTexts> {
  const last = existing.at(-1)
  const all = last === undefined ? created : [last, ...created]
  const isInOrder = all.every(
    (key, index) => index === 0 || compareAge(all[index - 1] ?? key, key) < 0,
  )
  if (texts !== undefined && isInOrder) return publishToo(texts, created, now)
  const checked = created[0] && (await readKeySet(db, created[0].projectId))
  return publish(oldestFirst([...(checked?.keys ?? []), ...created]), now, hadKeys())
}

/**
 * A caller that a key vouched for registers that one key, and only once: the use of its API key is an event.
 * The keys of a registration link are inactive unless it says otherwise.
 */
async function withIntroducer(
  ledger: LockedLedger,
  keys: readonly KeyToImport[],
): Promise<{ keys: readonly KeyToImport[]; use: NewEvent[] }> {
  const { voucher, apiKey, link } = ledger.caller ?? {}
  if (link !== undefined) {
    const introducedBy = introducedByLink(link.id)
    const through = keys.map(({ key, ...item }) => {
      const enabled = key.enabled && link.newKeys === 'active'
      return { ...item, key: { ...key, enabled, introducedBy } }
    })
    return { keys: through, use: [] }
  }
  if (voucher === undefined || apiKey === undefined) return { keys, use: [] }
  const use = await firstUse(ledger, tokenDigest('pubring', apiKey.id))
  const introduced = keys.map((item) => {
    requireSuccessor(voucher, item.key, use !== undefined)
    return { ...item, key: { ...item.key, introducedBy: voucher.keyId } }
  })
  return { keys: introduced, use: use === undefined ? [] : [use] }
}

const selectKeysForAdmission = statement((db, { projectId }: { projectId: string }) =>
  db
    .selectFrom('project')
    .leftJoin('jwt_key', 'jwt_key.project_id', 'project.id')
    .select([
      'jwt_key.id',
      'jwt_key.published_kid',
      'jwt_key.jwk',
      'jwt_key.jws_algorithm',
      'jwt_key.enabled',
      'jwt_key.expire_time',
      'jwt_key.thumbprint',
      'jwt_key.material_sha256',
      'jwt_key.create_time',
      'jwt_key.introduced_by',
      'jwt_key.end_reason',
    ])
    .where('project.id', '=', projectId)
    .orderBy('jwt_key.create_time')
    .orderBy('jwt_key.id'),
)

/**
 * The keys that a new key is checked against, oldest first, with the columns that this needs.
 * Undefined if there is no such project.
 */
async function readKeysForAdmission(
  db: Db,
  projectId: string,
): Promise<AdmissionKey[] | undefined> {
  const rows = await selectKeysForAdmission(db, { projectId })
  if (rows.length === 0) return undefined
  return rows
    .filter(hasKey)
    .map(({ jwk: jwkText, ...row }) => ({ ...keyPartFromRow(row), jwkText }))
}

/**
 * For each kid the thumbprints of all keys that ever had it, deleted ones included: as an id, by the
 * ledgers; as a `publishedKid` of the project, by its table.
 */
async function readKidUse(db: Db, projectId: string, kids: readonly string[]): Promise<KidUse> {
  const ids = new Map<string, Set<string>>()
  const published = new Map<string, Set<string>>()
  const add = (owners: typeof ids, kid: string, thumbprint: string) =>
    owners.set(kid, (owners.get(kid) ?? new Set()).add(thumbprint))
  for (const chunk of chunked([...new Set(kids)])) {
    const events = await db
      .selectFrom('event')
      .select(['project_id', 'subject_id', 'changes'])
      .where('subject_id', 'in', chunk)
      .where('type', '=', 'key.created')
      .execute()
    for (const { project_id, subject_id, changes } of events) {
      const { thumbprint }: EventChanges = JSON.parse(changes ?? '{}')
      add(ids, subject_id, String(thumbprint?.to))
      if (project_id === projectId) add(published, subject_id, String(thumbprint?.to))
    }
    const rows = await db
      .selectFrom('published_kid')
      .select(['kid', 'thumbprint'])
      .where('project_id', '=', projectId)
      .where('kid', 'in', chunk)
      .execute()
    for (const { kid, thumbprint } of rows) {
      add(ids, kid, thumbprint)
      add(published, kid, thumbprint)
    }
  }
  return { ids, published }
}

/** Keeps the published kids of new keys from ever naming other key material. */
async function reservePublishedKids(db: Db, keys: readonly KeyRecord[]): Promise<void> {
  const rows = keys.flatMap(({ projectId, publishedKid, thumbprint }) =>
    publishedKid === undefined ? [] : [{ project_id: projectId, kid: publishedKid, thumbprint }],
  )
  for (const chunk of chunked(rows)) {
    await db
      .insertInto('published_kid')
      .values(chunk)
      // The same key again, after it was deleted.
      .onConflict((conflict) => conflict.columns(['project_id', 'kid']).doNothing())
      .execute()
  }
}
