import { setImmediate } from 'node:timers/promises'
import type { KeyImportItem, KeyImportReport } from '../../contract/key-imports.ts'
import { errorTable, type FieldError, invalidField, PubringError } from '../../errors.ts'
import type { Verdict } from '../../intake/types.ts'
import type { Principal } from '../access.ts'
import type { Context } from '../context.ts'
import { isKid, newId } from '../ids.ts'
import type { ImportResult, KeyToImport, Origin } from '../ledger/changes.ts'
import type { KeyRecord } from '../records.ts'
import { parseTime, requireFuture } from '../times.ts'
import { itemErrors } from './import-admission.ts'
import { type ReadEntries, withoutSharedPrimes } from './import-primes.ts'
import type { Incident } from './incidents.ts'
import { intakeError, recordExposureOf, rejectPrivateKeys } from './intake.ts'
import { keyLimits, newKeyRecord, parseKeyLabel } from './operations.ts'

/** One entry of an import: a well-formed item, or what is wrong with its form and its text. */
export type ImportEntry = { item: KeyImportItem } | { faults: FieldError[]; text: string }

type ProjectIncident = Incident & { projectId: string }

/** Entries that are looked at before other requests have their turn. */
const perTurn = 16

/**
 * Throws `insufficient_role` where somebody who is no admin of all projects brings what only a key
 * that comes back home has: whether a kid is taken says something of every project.
 */
export function requireRestoreRights(principal: Principal, items: readonly unknown[]): void {
  const members = ['kid', 'createTime', 'updateTime']
  const found = members.find((name) =>
    items.some((item) => typeof item === 'object' && item !== null && Object.hasOwn(item, name)),
  )
  const mayKeep = principal.role === 'admin' && principal.projectId === undefined
  if (mayKeep || found === undefined) return
  throw new PubringError(
    'insufficient_role',
    `To import ${found} needs the role admin and an API key for all projects. Leave out kid, createTime and updateTime, and the keys get new ones.`,
  )
}

/**
 * Throws `invalid_request` where there are more keys than one import may bring, or none; and before
 * one is examined, where they could not all be in one project.
 */
export function requireImportSize({ config }: Context, count: number): void {
  const limit = Math.min(config.maxImportKeys, config.maxKeysPerProject)
  if (count >= 1 && count <= limit) return
  const code = count === 0 ? 'too_few' : 'too_many'
  const advice =
    limit < config.maxImportKeys ? 'A project has no more than that.' : 'Send them in several.'
  const detail = `keys holds ${count} keys; one import brings 1 to ${limit}. ${advice}`
  throw new PubringError('invalid_request', detail, {
    errors: [{ pointer: '/keys', code, detail }],
    limit,
  })
}

/**
 * Registers all keys in one transaction, or none: throws `import_refused` with every fault of every
 * item. Keys that the project has already are left as they are. Private keys are recorded as those
 * that come alone are, in a dry run too.
 */
export async function importKeys(
  context: Context,
  about: { projectId: string; dryRun: boolean },
  origin: Origin,
  entries: readonly ImportEntry[],
): Promise<KeyImportReport> {
  const incident = { projectId: about.projectId, origin }
  const read = await readEntries(context, incident, entries)
  const { keys, refused, compared } = await withoutSharedPrimes(context, about.projectId, read)
  const result = await context.store.commit({
    type: 'key.import',
    origin,
    projectId: about.projectId,
    keys,
    limits: keyLimits(context.config),
    compared,
    dryRun: about.dryRun || refused.length > 0,
  })
  const faults = [...refused, ...result.rejected]
  if (faults.length > 0) throw importRefused(faults, entries.length)
  return report(result)
}

function report({ items, room }: ImportResult): KeyImportReport {
  const created = items.filter(({ outcome }) => outcome === 'created').length
  return { created, present: items.length - created, items, room }
}

function importRefused(faults: FieldError[], count: number): PubringError {
  const place = ({ pointer = '' }: FieldError) => Number(pointer.split('/')[2])
  const errors = faults.toSorted((a, b) => place(a) - place(b))
  const items = new Set(errors.map(place)).size
  const [first] = errors
  const detail = `${items} of ${count} keys were refused, so none was registered. The first: ${first?.detail}`
  return new PubringError('import_refused', detail, { errors })
}

async function readEntries(
  context: Context,
  incident: ProjectIncident,
  entries: readonly ImportEntry[],
): Promise<ReadEntries> {
  const tasks = entries.flatMap((entry) =>
    'item' in entry ? [{ text: entry.item.publicKeyPem, algorithm: entry.item.algorithm }] : [],
  )
  const verdicts = (await context.bulk.examineAll(tasks)).values()
  const keys: KeyToImport[] = []
  const refused: FieldError[] = []
  for (const [index, entry] of entries.entries()) {
    if (index % perTurn === 0) await setImmediate()
    const verdict = 'item' in entry ? verdicts.next().value : undefined
    const answer = await readEntry(context, incident, { entry, verdict, index })
    if (Array.isArray(answer)) refused.push(...answer)
    else keys.push(answer)
  }
  return { keys, refused }
}

/** The key to register, or every reason why this is none. */
async function readEntry(
  context: Context,
  incident: ProjectIncident,
  about: { entry: ImportEntry; verdict: Verdict | undefined; index: number },
): Promise<KeyToImport | FieldError[]> {
  const { entry, verdict, index } = about
  const faults: FieldError[] = []
  const attempt = <Value>(step: () => Value | Promise<Value>) => tried(step, index, faults)
  if (!('item' in entry)) {
    await attempt(() => rejectPrivateKeys(context, incident, { '': entry.text }))
    if (faults.length > 0) return faults
    return itemErrors(index, new PubringError('import_refused', '', { errors: entry.faults }))
  }
  const { item } = entry
  const accepted = await attempt(() => requireAccepted(context, incident, verdict))
  const given = await attempt(async () => {
    await rejectPrivateKeys(context, incident, { '/name': item.name, '/label': item.label })
    return givenBy(item, incident.origin.time)
  })
  if (faults.length > 0 || accepted === undefined || given === undefined) return faults
  const key = newKeyRecord(accepted, { ...given, projectId: incident.projectId })
  return { index, key, kidProvided: item.kid !== undefined }
}

/** What the step answers; where it refuses the item, the reasons are added to the faults. */
async function tried<Value>(
  step: () => Value | Promise<Value>,
  index: number,
  faults: FieldError[],
): Promise<Value | undefined> {
  try {
    return await step()
  } catch (error) {
    const refused = error instanceof PubringError && errorTable[error.code].status === 400
    if (!refused) throw error
    faults.push(...itemErrors(index, error))
    return undefined
  }
}

async function requireAccepted(context: Context, incident: Incident, verdict: Verdict | undefined) {
  if (verdict === undefined) throw new Error('an item without a verdict')
  const settled = await recordExposureOf(context, incident, verdict)
  if (!settled.ok) throw intakeError(settled, '/publicKeyPem')
  return settled
}

/** What the item says of the key besides its material. */
function givenBy(item: KeyImportItem, now: string) {
  const { kid, algorithm, active = true } = item
  if (kid !== undefined && !isKid(kid)) {
    throw invalidField('/kid', 'kid_invalid', 'kid must be a UUID (RFC 9562) in lower case.')
  }
  const createTime = pastTime(item.createTime, 'createTime', now)
  const updateTime = pastTime(item.updateTime ?? item.createTime, 'updateTime', now)
  if (updateTime < createTime) {
    throw invalidField(
      '/updateTime',
      'time_order',
      'updateTime must not lie before createTime. Where it is given, createTime is given with it.',
    )
  }
  return {
    id: kid ?? newId(),
    label: parseKeyLabel(item),
    algorithm,
    enabled: active,
    ...expiryOf(item, now, createTime),
    createTime,
    updateTime,
    publishTime: now,
  } satisfies Partial<KeyRecord>
}

/** A key that comes back home may have expired since it was made. */
function expiryOf(item: KeyImportItem, now: string, createTime: string): { expireTime?: string } {
  const { expireTime } = item
  const isHome = item.createTime !== undefined
  const earliest = isHome ? createTime : now
  if (expireTime === undefined) return {}
  const time = parseTime(expireTime)
  if (isHome && time <= earliest) {
    throw invalidField('/expireTime', 'time_order', 'expireTime must lie after createTime.')
  }
  requireFuture(time, earliest)
  return { expireTime: time }
}

function pastTime(text: string | undefined, field: string, now: string): string {
  if (text === undefined) return now
  const time = parseTime(text, field)
  if (time <= now) return time
  throw invalidField(`/${field}`, 'time_future', `${field} must not lie in the future.`)
}
