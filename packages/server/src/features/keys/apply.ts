import { PubringError } from '../../errors.ts'
import { requireRecentSignIn } from '../../kernel/access/authorization.ts'
import type { Origin, Outcome, Transaction } from '../../kernel/changes.ts'
import { requireIfMatch } from '../../kernel/entity-tags.ts'
import { notFound } from '../../kernel/faults.ts'
import {
  type EventChanges,
  eventAbout,
  type NewEvent,
  type PublishedDigests,
} from '../../kernel/ledger/chain.ts'
import { requireUncontradicted } from '../../kernel/ledger/contradictions.ts'
import { requireRate } from '../../kernel/ledger/event-rates.ts'
import { type LockedLedger, lockProjectLedger } from '../../kernel/ledger/locked-ledger.ts'
import { firstUse } from '../../kernel/ledger/token-uses.ts'
import { type Db, parseStored } from '../../kernel/storage/schema.ts'
import { exists } from '../../kernel/storage/statements.ts'
import { earliest, isActive, latest, requireValidExpiry } from '../../kernel/values/times.ts'
import { present } from '../../runtime/present.ts'
import {
  invalidProof,
  type KeyDeletion,
  type KeyEnding,
  type KeyPatch,
  type KeyUpdate,
  keyChanged,
  keyEnded,
  type WeaknessFinding,
  type WeaknessReport,
} from './changes.ts'
import type { KeyWarning } from './contract.ts'
import { block, isBlockedUnderLock } from './exposure/fingerprints.ts'
import { activationTime, jwksBytes, withJwkText } from './jwks.ts'
import { findByKid } from './kids.ts'
import {
  deletedKeyChanges,
  endsLater,
  keyCompromised,
  patchedKeysEnd,
  patchKey,
  patchWarnings,
  requireValidReason,
} from './patches.ts'
import { appendKeyEvents, readStoredTexts, storeTexts, withdraw } from './published/stored.ts'
import { publish } from './published/texts.ts'
import { oldestFirst, readKeySet } from './reads.ts'
import { requireJwksCapacity } from './registration/admission.ts'
import { changeTag, changeTagsOf } from './states.ts'
import { fingerprintIn, type KeyRecord, type KeySet, keys, keyToRow } from './stored.ts'

export async function updateKey(tx: Transaction, change: KeyPatch): Promise<Outcome<KeyUpdate>> {
  const { db } = tx
  const { projectId, kid, patch, ifMatch, limits, origin } = change
  const { time } = origin
  const locked = await lockKeySet(tx, projectId, origin)
  const key = findKey(locked.keySet, kid)
  requireIfMatch(changeTagsOf(ifMatch), changeTag(key, time), 'key')
  requireUncontradicted('key', key)
  requireValidExpiry(key, patch, time)
  const patched = patchKey(key, patch, time)
  requireValidReason(patched, patch)
  if (key.endReason === 'compromised' && endsLater(key, patched, time)) throw keyCompromised()
  if (isActive(patched, time) && !isActive(key, time)) {
    const all = withKey(locked.keySet, patched).map(withJwkText)
    requireJwksCapacity(jwksBytes(all, time), limits)
    if (await isBlockedUnderLock(db, key, time)) throw keyCompromised()
  }
  const { events, warnings } = await patchEvents(tx, locked, [key, patched])
  if (events.length === 0) return { result: { key, warnings }, changed: false }
  await appendKeyEvents(tx, locked.ledger, withKey(locked.keySet, patched), events)
  return { result: { key: patched, warnings }, changed: true }
}

/**
 * Writes the key if it differs. Returns the events, with those of the rotations that end with it, and
 * the warnings about the change. To end a key as compromised, which is for good, or to leave a project or its
 * `jwks.json` without an active key, a session must have a recent sign-in. Other keys that were activated
 * since the sign-in do not count: a thief could have registered them. The key itself does: a colleague may
 * have activated it.
 */
export async function patchEvents(
  tx: Transaction,
  { ledger, keySet }: LockedKeySet,
  [before, after]: [before: KeyRecord, after: KeyRecord],
): Promise<{ events: NewEvent[]; warnings: KeyWarning[] }> {
  if (after === before) return { events: [], warnings: [] }
  const { origin, caller } = ledger
  const { keys: all } = keySet
  const warnings = patchWarnings(all, [before, after], origin.time)
  const { createTime = '', signInTime = createTime } = caller?.session ?? {}
  const counted = all.filter((key) => key.id === before.id || activationTime(key) <= signInTime)
  const isForGood = after.endReason === 'compromised' && before.endReason !== 'compromised'
  if (patchedKeysEnd(counted, after, origin.time)) requireRecentSignIn(ledger)
  if (isForGood) requireRecentSignIn(ledger, isActive(before, origin.time) ? endItFirst : '')
  const caused = await updateKeyRow(tx, after)
  const updated = keys.event('updated', before.id, keys.changes(before, after))
  const isDisabled = before.enabled && !after.enabled
  const ended = isDisabled ? await tx.hooks.run(keyEnded, tx, before, 'disable', origin.time) : []
  return { events: [updated, ...caused, ...ended.flat()], warnings }
}

/** A leaked key need not stay active until its holder has signed in. */
const endItFirst = ' Until then, deactivate the key without a reason.'

/**
 * Sets the end of the key or brings it nearer, at once if the time is past. A proof counts once, even if the
 * key ends earlier anyway: repeated, it changes nothing, and must not undo what a person did since. Throws
 * `rate_limited` for many, but never for one that ends the key at once or has a stronger reason: who stole the
 * private key must not keep its owner from that.
 */
export async function endKey(
  tx: Transaction,
  { projectId, kid, expireTime, reason, once, origin }: KeyEnding,
): Promise<Outcome<string>> {
  const locked = await lockKeySet(tx, projectId, origin)
  const key = findKey(locked.keySet, kid)
  requireUncontradicted('key', key)
  const end = earliest(latest(expireTime, origin.time), key.expireTime)
  const patched = patchKey(key, { expireTime: end, ...present({ reason }) }, origin.time)
  const use = await firstUse(locked.ledger, once)
  if (use === undefined) {
    if (patched === key) return { result: end, changed: false }
    throw invalidProof('Its jti was used before.')
  }
  const endsNow = isActive(key, origin.time) && !isActive(patched, origin.time)
  if (!endsNow && patched.endReason === key.endReason)
    await requireRate(locked.ledger, { type: 'token.used', did: 'changed the end of this key' })
  const { events } = await patchEvents(tx, locked, [key, patched])
  await appendKeyEvents(tx, locked.ledger, withKey(locked.keySet, patched), [use, ...events])
  return { result: end, changed: true }
}

export async function deleteKey(
  tx: Transaction,
  { projectId, kid, ifMatch, origin }: KeyDeletion,
): Promise<Outcome<undefined>> {
  const { db } = tx
  const { ledger, keySet } = await lockKeySet(tx, projectId, origin)
  const key = findKey(keySet, kid)
  requireIfMatch(changeTagsOf(ifMatch), changeTag(key, origin.time), 'key')
  if (isActive(key, origin.time)) {
    throw new PubringError(
      'key_active',
      'The key is active: verifiers may still need it. Deactivate it first (PATCH with "active": false), then delete it.',
    )
  }
  const { id } = key
  await db.deleteFrom('jwt_key').where('project_id', '=', projectId).where('id', '=', id).execute()
  if (key.endReason === 'compromised') {
    // In its project alone: others may have the key.
    await block(db, [fingerprintIn(projectId, key.thumbprint)], origin.time)
  }
  const ended = await tx.hooks.run(keyEnded, tx, key, 'delete', origin.time)
  const deleted = keys.event('deleted', id, deletedKeyChanges(key))
  const others = keySet.keys.filter((other) => other !== key)
  await appendKeyEvents(tx, ledger, others, [deleted, ...ended.flat()])
  return { result: undefined, changed: true }
}

/**
 * Records a key's weaknesses in its project's ledger, each of them once. With the same event it marks
 * the key as compromised, if that is one of them, and deactivates it if `deactivate` is set. The event names
 * no other project.
 */
export async function reportWeakness(
  tx: Transaction,
  change: WeaknessFinding,
): Promise<Outcome<WeaknessReport>> {
  const { db } = tx
  const { origin, projectId, kid, weaknesses, deactivate } = change
  const { ledger, keySet } = await lockKeySet(tx, projectId, origin)
  const key = findKey(keySet, kid)
  // An event would record the row as it is now. It is not published anyway.
  if (key.contradicted) throw notFound('key_not_found')
  const known = await readReportedWeaknesses(db, projectId, kid)
  const reported = weaknesses.filter((code) => !known.includes(code))
  const ended = deactivate ? patchKey(key, { active: false }, origin.time) : key
  const isCompromised = weaknesses.includes('key_known_compromised')
  const after: KeyRecord = isCompromised ? { ...ended, endReason: 'compromised' } : ended
  const active = isActive(after, origin.time)
  const result = { reported, active, deactivated: ended !== key }
  if (ended === key && reported.length === 0) return { result, changed: false }
  const caused = after === key ? [] : await updateKeyRow(tx, after)
  const changes: EventChanges = {
    ...(reported.length === 0 ? {} : { weaknesses: { to: reported.join(' ') } }),
    ...keys.state(after),
    ...keys.changes(key, after),
  }
  const type = reported.length === 0 ? 'key.updated' : 'key.weakness_found'
  const events = ended === key ? [] : await tx.hooks.run(keyEnded, tx, key, 'disable', origin.time)
  const all = [eventAbout(type, key.id, changes), ...caused, ...events.flat()]
  await appendKeyEvents(tx, ledger, withKey(keySet, after), all)
  return { result, changed: true }
}

/** The weaknesses that the ledger has of the key since it was created: one with its id may have been deleted. */
async function readReportedWeaknesses(db: Db, projectId: string, kid: string): Promise<string[]> {
  const events = await db
    .selectFrom('event')
    .select(['type', 'changes'])
    .where('project_id', '=', projectId)
    .where('subject_id', '=', kid)
    .where('type', 'in', ['key.created', 'key.weakness_found'])
    .orderBy('revision')
    .execute()
  const created = events.findLastIndex(({ type }) => type === 'key.created')
  return events.slice(created + 1).flatMap(({ changes }) => {
    const { weaknesses } = parseStored<EventChanges>(changes ?? '', {})
    return typeof weaknesses?.to === 'string' ? weaknesses.to.split(' ') : []
  })
}

/** The keys of a project locked for a change. */
export interface LockedKeySet {
  ledger: LockedLedger
  keySet: KeySet
}

/** Locks the project, so that its keys do not change before the transaction ends. */
export async function lockKeySet(
  tx: Transaction,
  projectId: string,
  origin: Origin,
): Promise<LockedKeySet> {
  const { db } = tx
  const ledger = await lockProjectLedger(tx, projectId, origin)
  const keySet = await readKeySet(db, projectId)
  if (keySet === undefined) throw notFound('project_not_found')
  return { ledger, keySet }
}

/** The keys of the project after a change of this one. */
export function withKey({ keys }: KeySet, changed: KeyRecord): KeyRecord[] {
  return keys.map((key) => (key.id === changed.id ? changed : key))
}

export function findKey(keySet: KeySet, kid: string): KeyRecord {
  const key = findByKid(keySet.keys, kid)
  if (key === undefined) throw notFound('key_not_found')
  return key
}

/** Writes the members of a key that can change; returns the events of what else changes with them. */
async function updateKeyRow(tx: Transaction, key: KeyRecord): Promise<NewEvent[]> {
  const caused = await tx.hooks.run(keyChanged, tx, key)
  const { label, enabled, expire_time, update_time, publish_time, ...row } = keyToRow(key)
  const { activate_time, end_reason, end_time } = row
  await tx.db
    .updateTable('jwt_key')
    .set({ label, enabled, expire_time, update_time, publish_time })
    .set({ activate_time, end_reason, end_time })
    .where('project_id', '=', key.projectId)
    .where('id', '=', key.id)
    .execute()
  return caused.flat()
}

/** Publishes the keys of a project as they are in the table, but for those that contradict themselves. */
export async function acceptKeySet(
  tx: Transaction,
  projectId: string,
  time: string,
): Promise<PublishedDigests | undefined> {
  const { db } = tx
  const project = db.selectFrom('project').select('id').where('id', '=', projectId)
  if (!(await exists(project))) {
    await withdraw(tx, projectId)
    return undefined
  }
  const rows = await keys.rowsOf(db, projectId)
  const damaged = new Set(rows.flatMap(({ id, damage }) => (damage === undefined ? [] : [id])))
  const found = await keys.readUnchecked(db, (all) => all.where('project_id', '=', projectId))
  const { hadKeys } = await readStoredTexts(db, projectId)
  const intact = found.filter(({ id }) => !damaged.has(id))
  return storeTexts(db, projectId, publish(oldestFirst(intact), time, hadKeys()))
}

export { refusePrivateKey } from './exposure/apply.ts'
export { createKey, importKeys } from './registration/apply.ts'
