import { type FieldError, PubringError } from '../../errors.ts'
import type { ImportResult, KeyLimits, KeyToImport } from '../ledger/changes.ts'
import type { KeyRecord } from '../records.ts'
import {
  refuseBlocked,
  refuseLargeJwks,
  refuseOneTooMany,
  refuseReusedModulus,
  refuseSharedPrime,
} from './admission.ts'
import { jwksLength } from './jwks.ts'

/** What `admitImport` is to know besides the keys. */
interface ImportKnowledge {
  limits: KeyLimits
  now: string
  /** Thumbprints and material hashes whose private halves were once submitted. */
  blocked: ReadonlySet<string>
  /** Thumbprints of all keys that ever had a kid, in any project, by the kid. */
  holders: ReadonlyMap<string, ReadonlySet<string>>
  /** Kids of the RSA keys that share no prime with those of the import. */
  compared: ReadonlySet<string>
}

/** What an error says, as faults of one item of an import. */
export function itemErrors(index: number, error: PubringError): FieldError[] {
  const at = `/keys/${index}`
  const { errors } = error.extras
  if (errors === undefined) return [{ pointer: at, code: error.code, detail: error.message }]
  return errors.map((fault) => ({ ...fault, pointer: `${at}${fault.pointer ?? ''}` }))
}

/**
 * Which keys of an import a project takes, asked as `admitKey` is: inside the change's transaction,
 * under the project's lock. Each is judged as if those before it were there already. Linear in the
 * number of keys. `created` are the records to store, if nothing is refused.
 */
export function admitImport(
  existing: readonly KeyRecord[],
  items: readonly KeyToImport[],
  knowledge: ImportKnowledge,
): ImportResult & { created: KeyRecord[] } {
  const { limits, now, compared } = knowledge
  const filling = fillingOf(existing, now)
  const bytesBefore = filling.length.now()
  const uncompared = existing.filter(({ id }) => !compared.has(id))
  const admitted: ImportResult['items'] = []
  const rejected: FieldError[] = []
  for (const item of items) {
    try {
      admitted.push(admitOne(filling, item, knowledge, uncompared))
    } catch (error) {
      if (!(error instanceof PubringError)) throw error
      rejected.push(...itemErrors(item.index, error))
    }
  }
  const room = {
    keys: { before: existing.length, after: filling.count(), limit: limits.maxKeys },
    jwksBytes: { before: bytesBefore, after: filling.length.now(), limit: limits.maxJwksBytes },
  }
  return { items: admitted, rejected, room, created: filling.created }
}

/** The project as it fills. */
type Filling = ReturnType<typeof fillingOf>

function fillingOf(existing: readonly KeyRecord[], now: string) {
  const places = new Map<string, number>()
  const byThumbprint = new Map(existing.map((key) => [key.thumbprint, key]))
  const byMaterial = new Map(existing.map((key) => [key.materialSha256, key]))
  const kids = new Map(existing.map((key) => [key.id, key.thumbprint]))
  const length = jwksLength(existing, now)
  const created: KeyRecord[] = []
  return {
    places,
    byThumbprint,
    byMaterial,
    kids,
    length,
    created,
    count: () => existing.length + created.length,
    add(key: KeyRecord): void {
      byThumbprint.set(key.thumbprint, key)
      byMaterial.set(key.materialSha256, key)
      kids.set(key.id, key.thumbprint)
      length.add(key)
      created.push(key)
    },
  }
}

function admitOne(
  filling: Filling,
  item: KeyToImport,
  { blocked, holders, limits }: ImportKnowledge,
  uncompared: readonly KeyRecord[],
): ImportResult['items'][number] {
  const { index, key } = item
  if (blocked.has(key.thumbprint) || blocked.has(key.materialSha256)) refuseBlocked()
  requireFirst(filling.places, index, key)
  const registered = filling.byThumbprint.get(key.thumbprint)
  if (registered !== undefined) return { outcome: 'present', kid: agreed(registered, item) }
  requireUnused(filling, item, holders)
  const twin = filling.byMaterial.get(key.materialSha256)
  refuseReusedModulus(twin === undefined ? [] : [twin], key)
  refuseSharedPrime(uncompared, key)
  refuseOneTooMany(filling.count(), limits)
  refuseLargeJwks(filling.length.with(key), limits)
  filling.add(key)
  return { outcome: 'created', kid: key.id }
}

/** A kid that a caller chose is that of this key, or of none. */
function requireUnused(
  { kids }: Filling,
  { key, kidProvided }: KeyToImport,
  holders: ImportKnowledge['holders'],
): void {
  const owners = [...(holders.get(key.id) ?? []), kids.get(key.id) ?? key.thumbprint]
  if (kidProvided && owners.some((thumbprint) => thumbprint !== key.thumbprint)) throw kidTaken()
}

/** Of two items with one key the second is refused, whatever became of the first. */
function requireFirst(places: Map<string, number>, index: number, key: KeyRecord): void {
  const first = places.get(key.thumbprint)
  if (first === undefined) {
    places.set(key.thumbprint, index)
    return
  }
  throw refused(
    '/publicKeyPem',
    'duplicate_key',
    `This key is in the import twice: here and at /keys/${first}. Leave one of them out.`,
  )
}

/** The kid of the registered key, where the item says nothing else of it. */
function agreed(twin: KeyRecord, { key, kidProvided }: KeyToImport): string {
  const where = `This key is already registered in the project, as ${twin.id}`
  if (kidProvided && twin.id !== key.id) {
    throw refused('/kid', 'duplicate_key', `${where}. Leave kid out, or give that one.`)
  }
  if (twin.jwsAlgorithm !== key.jwsAlgorithm) {
    throw refused(
      '/algorithm',
      'duplicate_key',
      `${where}, for ${twin.jwsAlgorithm}. Give that algorithm, or leave the key out.`,
    )
  }
  return twin.id
}

function kidTaken(): PubringError {
  return refused(
    '/kid',
    'kid_taken',
    'This kid belongs to other key material, or once did. Leave kid out, and the key gets a new one.',
  )
}

function refused(pointer: string, code: string, detail: string): PubringError {
  return new PubringError('import_refused', detail, { errors: [{ pointer, code, detail }] })
}
