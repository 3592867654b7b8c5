import type { RequestContext } from '../../kernel/access/principal.ts'
import type { Context } from '../../kernel/context.ts'
import { requireId } from '../../kernel/managed-records.ts'
import { signInChanges } from './changes.ts'
import type { Person } from './contract.ts'
import { readPeople } from './reads.ts'

export function listPeople({ store }: Context): Promise<Person[]> {
  return readPeople(store.reader)
}

/** Erases name and email of a person, and ends their sessions. Throws `person_not_found`. */
export async function deletePerson({ store, origin }: RequestContext, id: string): Promise<void> {
  await store.commit(signInChanges.deletePerson, { origin, id: requireId(id, 'person_not_found') })
}
