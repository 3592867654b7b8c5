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
import { type KidOwners, kidOf, requireFreeKid } from './kids.ts'

interface ImportRules extends AdmissionRules {
  /** The owners of the kids that the caller chose as ids, in any project. */
  ids: KidOwners
}

/** What the admitted items of an import add up to. */
interface ImportState {
  admission: Admission
  /** Index of the first item with a thumbprint, whether or not it was admitted. */
  firstIndexes: Map<string, number>
  /** The owners of the kids of admitted keys. */
  kids: Map<string, Set<string>>
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
    kids: new Map(),
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
  rules: ImportRules,
): ImportResult['items'][number] {
  const { index, key } = item
  requireNotBlocked(key, rules.blocked)
  requireFirst(state.firstIndexes, index, key)
  const twin = state.admission.findTwin(key)
  if (twin !== undefined) {
    requireSameAsTwin(twin, item)
    return { outcome: 'present', kid: twin.id }
  }
  requireFreeKids(state.kids, item, rules)
  state.admission.add(key)
  for (const kid of [key.id, kidOf(key)]) state.kids.set(kid, new Set([key.thumbprint]))
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
  if (key.publishedKid !== undefined && kidOf(twin) !== key.publishedKid) {
    throw invalidField(
      '/publishedKid',
      'duplicate_key',
      `${registered}, published as ${kidOf(twin)}. Omit publishedKid, or send that one.`,
    )
  }
  if (twin.jwsAlgorithm !== key.jwsAlgorithm) {
    throw invalidField(
      '/algorithm',
      'duplicate_key',
      `${registered}, for ${twin.jwsAlgorithm}. Send that algorithm, or remove the key.`,
    )
  }
}

/** Kids that the caller chose must never have named other key material, nor do so in this import. */
function requireFreeKids(
  admitted: KidOwners,
  { key, kidProvided }: KeyToImport,
  { ids, publishedKids }: ImportRules,
): void {
  const { id, publishedKid, thumbprint } = key
  if (kidProvided) {
    for (const owners of [ids, admitted]) requireFreeKid('kid', id, thumbprint, owners)
  }
  if (publishedKid === undefined) return
  for (const owners of [publishedKids, admitted]) {
    requireFreeKid('publishedKid', publishedKid, thumbprint, owners)
  }
}
