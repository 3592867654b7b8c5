import { type FieldError, invalidField, PubringError } from '../../errors.ts'
import { faultsOf } from '../faults.ts'
import type { ImportResult, KeyToImport } from '../ledger/changes.ts'
import type { KeyRecord } from '../records.ts'
import {
  type Admission,
  type AdmissionKey,
  type AdmissionRules,
  createAdmission,
  requireNotBlocked,
} from './admission.ts'

interface ImportRules extends AdmissionRules {
  /** By kid: thumbprints of all keys that ever had it, in any project. */
  holders: ReadonlyMap<string, ReadonlySet<string>>
}

/** What the admitted items of an import add up to. */
interface ImportState {
  admission: Admission
  /** Index of the first item with a thumbprint, whether or not it was admitted. */
  firstIndexes: Map<string, number>
  /** By kid: thumbprints of the keys in the project. */
  thumbprints: Map<string, string>
  created: KeyRecord[]
}

/** Faults of one item, with pointers into the import. */
export function itemFaults(index: number, faults: readonly FieldError[]): FieldError[] {
  return faults.map((fault) => ({ ...fault, pointer: `/keys/${index}${fault.pointer ?? ''}` }))
}

/**
 * Admits the keys of an import as `admitKey` does, each as if those before it were registered. The
 * records in `created` are to be stored if no item is rejected.
 */
export function admitImport(
  existing: readonly AdmissionKey[],
  items: readonly KeyToImport[],
  rules: ImportRules,
): ImportResult & { created: KeyRecord[] } {
  const state: ImportState = {
    admission: createAdmission(existing, rules),
    firstIndexes: new Map(),
    thumbprints: new Map(existing.map(({ id, thumbprint }) => [id, thumbprint])),
    created: [],
  }
  const before = state.admission.size()
  const admitted: ImportResult['items'] = []
  const rejected: FieldError[] = []
  for (const item of items) {
    try {
      admitted.push(admitItem(state, item, rules))
    } catch (error) {
      if (!(error instanceof PubringError)) throw error
      rejected.push(...itemFaults(item.index, faultsOf(error)))
    }
  }
  const after = state.admission.size()
  const { maxKeys, maxJwksBytes } = rules.limits
  const room = {
    keys: { before: before.keys, after: after.keys, limit: maxKeys },
    jwksBytes: { before: before.jwksBytes, after: after.jwksBytes, limit: maxJwksBytes },
  }
  return { items: admitted, rejected, room, created: state.created }
}

function admitItem(
  state: ImportState,
  item: KeyToImport,
  { blocked, holders }: ImportRules,
): ImportResult['items'][number] {
  const { index, key } = item
  requireNotBlocked(key, blocked)
  requireFirst(state.firstIndexes, index, key)
  const twin = state.admission.findTwin(key)
  if (twin !== undefined) {
    requireSameAsTwin(twin, item)
    return { outcome: 'present', kid: twin.id }
  }
  requireFreeKid(state.thumbprints, item, holders)
  state.admission.add(key)
  state.thumbprints.set(key.id, key.thumbprint)
  state.created.push(key)
  return { outcome: 'created', kid: key.id }
}

/** Of two items with one key the second is rejected, even if the first was. */
function requireFirst(firstIndexes: Map<string, number>, index: number, key: KeyRecord): void {
  const first = firstIndexes.get(key.thumbprint)
  if (first !== undefined) {
    throw invalidField(
      '/publicKeyPem',
      'duplicate_key',
      `The import has this key twice: here and at /keys/${first}. Remove one of them.`,
    )
  }
  firstIndexes.set(key.thumbprint, index)
}

/** An item for a registered key must agree with it in kid and algorithm. */
function requireSameAsTwin(twin: AdmissionKey, { key, kidProvided }: KeyToImport): void {
  const registered = `The project already has this key, as ${twin.id}`
  if (kidProvided && twin.id !== key.id) {
    throw invalidField('/kid', 'duplicate_key', `${registered}. Omit kid, or send that one.`)
  }
  if (twin.jwsAlgorithm !== key.jwsAlgorithm) {
    throw invalidField(
      '/algorithm',
      'duplicate_key',
      `${registered}, for ${twin.jwsAlgorithm}. Send that algorithm, or remove the key.`,
    )
  }
}

/** A kid that the caller chose must never have named other key material. */
function requireFreeKid(
  thumbprints: ReadonlyMap<string, string>,
  { key, kidProvided }: KeyToImport,
  holders: ImportRules['holders'],
): void {
  const owners = [...(holders.get(key.id) ?? []), thumbprints.get(key.id) ?? key.thumbprint]
  if (!kidProvided || owners.every((thumbprint) => thumbprint === key.thumbprint)) return
  throw invalidField(
    '/kid',
    'kid_taken',
    'This kid names other key material, or once did. Omit kid, and the key gets a new one.',
  )
}
