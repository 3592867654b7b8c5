import { setImmediate } from 'node:timers/promises'
import { type FieldError, PubringError } from '../../errors.ts'
import { permits, unboundAdmin } from '../../kernel/access/grants.ts'
import type { Principal, RequestContext } from '../../kernel/access/principal.ts'
import type { Context } from '../../kernel/context.ts'
import { itemFaults } from '../../kernel/faults.ts'
import { type KeyToImport, keyChanges } from '../keys/changes.ts'
import { keyLimits } from '../keys/operations.ts'
import { readRsaKeys } from '../keys/reads.ts'
import { sharedPrime } from '../keys/registration/admission.ts'
import { examineSubmission, type Submission } from '../keys/registration/submission.ts'
import type { KeyImportReport } from './contract.ts'

/** Keys in one import: they are admitted in one transaction, which holds the lock of the project. */
const maxImportKeys = 1_000

/** An import whose entries are examined: keys to admit, and the faults of the others. */
interface ExaminedImport {
  keys: KeyToImport[]
  rejected: FieldError[]
}

/**
 * Throws `insufficient_role` if an item has fields that only restored keys carry and the caller is
 * no admin of all projects: whether a kid is taken reveals something of every project.
 */
export function requireRestoreRights(principal: Principal, items: readonly unknown[]): void {
  const has = (name: string) =>
    items.some((item) => typeof item === 'object' && item !== null && Object.hasOwn(item, name))
  const restored = ['kid', 'createTime', 'updateTime'].find(has)
  const isAdminOfAll = permits(principal.grants, unboundAdmin)
  if (isAdminOfAll || restored === undefined) return
  throw new PubringError(
    'insufficient_role',
    `To import ${restored} needs the role admin and an API key for all projects. Omit kid, createTime and updateTime, and Pubring sets them.`,
  )
}

/** Throws `invalid_request` if the import is empty or has more keys than a project may have. */
export function requireImportSize({ config }: Context, count: number): void {
  const limit = Math.min(maxImportKeys, config.maxKeysPerProject)
  if (count >= 1 && count <= limit) return
  const code = count === 0 ? 'too_few' : 'too_many'
  const isProjectLimit = limit < maxImportKeys
  const advice = isProjectLimit
    ? 'A project can have no more keys (PUBRING_MAX_KEYS_PER_PROJECT).'
    : 'Use several imports.'
  const detail = `keys has ${count} entries; an import takes 1 to ${limit}. ${advice}`
  throw new PubringError('invalid_request', detail, {
    errors: [{ pointer: '/keys', code, detail }],
    limit,
  })
}

/**
 * Registers all keys in one transaction or none: throws `import_refused` with every fault of every
 * item. Leaves keys that the project already has as they are. Records private keys as `createKey`
 * does, in a dry run too.
 */
export async function importKeys(
  context: RequestContext,
  { projectId, dryRun }: { projectId: string; dryRun: boolean },
  entries: readonly Submission[],
): Promise<KeyImportReport> {
  const { origin } = context
  const examined = await examineEntries(context, projectId, entries)
  const { keys, rejected, compared } = await rejectSharedPrimes(context, projectId, examined)
  const result = await context.store.commit(keyChanges.importKeys, {
    origin,
    projectId,
    keys,
    limits: keyLimits(context.config),
    compared,
    dryRun: dryRun || rejected.length > 0,
  })
  const faults = [...rejected, ...result.rejected]
  if (faults.length > 0) throw importRejected(faults, entries.length)
  const { items, room } = result
  const created = items.filter(({ outcome }) => outcome === 'created').length
  return { created, present: items.length - created, items, room }
}

function importRejected(faults: FieldError[], count: number): PubringError {
  const indexOf = ({ pointer = '' }: FieldError) => Number(pointer.split('/')[2])
  const errors = faults.toSorted((a, b) => indexOf(a) - indexOf(b))
  const items = new Set(errors.map(indexOf)).size
  const detail = `${items} of ${count} keys were rejected, so none was registered. The first: ${errors[0]?.detail}`
  return new PubringError('import_refused', detail, { errors })
}

async function examineEntries(
  context: RequestContext,
  projectId: string,
  entries: readonly Submission[],
): Promise<ExaminedImport> {
  const tasks = entries.flatMap(({ fields: { publicKeyPem: text, algorithm } }) =>
    text === undefined ? [] : [{ text, algorithm }],
  )
  const verdicts = (await context.intake.bulk.examineAll(tasks)).values()
  const keys: KeyToImport[] = []
  const rejected: FieldError[] = []
  for (const [index, entry] of entries.entries()) {
    // Others get a turn: long texts take 10 ms each.
    await setImmediate()
    const verdict = entry.fields.publicKeyPem === undefined ? undefined : verdicts.next().value
    const examined = await examineSubmission(context, projectId, entry, verdict)
    if (Array.isArray(examined)) {
      rejected.push(...itemFaults(index, examined))
      continue
    }
    const key = { ...examined, projectId }
    keys.push({ index, key, kidProvided: entry.fields.kid !== undefined })
  }
  return { keys, rejected }
}

/**
 * Rejects RSA keys that share a prime with a key of the project or of the import. It runs before the
 * transaction, because it takes long; keys that join the project meanwhile are compared inside it.
 */
async function rejectSharedPrimes(
  context: RequestContext,
  projectId: string,
  { keys, rejected }: ExaminedImport,
): Promise<ExaminedImport & { compared: string[] }> {
  if (keys.every(({ key }) => key.jwk.kty !== 'RSA')) return { keys, rejected, compared: [] }
  const registered = await readRsaKeys(context.store.reader, projectId)
  const thumbprints = new Set(registered.map(({ thumbprint }) => thumbprint))
  const added = keys.flatMap(({ index, key: { jwk, thumbprint } }) =>
    jwk.kty === 'RSA' && !thumbprints.has(thumbprint) ? [{ index, n: jwk.n }] : [],
  )
  const moduli = [...registered, ...added].map(({ n }) => n)
  const sharers = await context.intake.bulk.findSharedPrimes(moduli, registered.length)
  const weak = new Map<number, FieldError>()
  for (const [position, { index }] of added.entries()) {
    const sharer = sharers[position]
    if (sharer === undefined) continue
    const inImport = `at /keys/${added[sharer - registered.length]?.index} of this import`
    const fault = sharedPrime(`the key ${registered[sharer]?.kid ?? inImport}`)
    weak.set(index, { pointer: `/keys/${index}/publicKeyPem`, ...fault })
  }
  return {
    keys: keys.filter(({ index }) => !weak.has(index)),
    rejected: [...rejected, ...weak.values()],
    compared: registered.map(({ kid }) => kid),
  }
}
