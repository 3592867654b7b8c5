import type { Person } from '../../contract/sign-in/sessions.ts'
import type { RequestContext } from '../access/principal.ts'
import type { Context } from '../context.ts'
import { requireId } from '../managed-records.ts'
import type { PersonRecord } from '../records.ts'

export function listPeople({ store }: Context): Promise<Person[]> {
  return store.listPeople()
}

/** Erases name and email of a person, and ends their sessions. Throws `person_not_found`. */
export async function deletePerson({ store, origin }: RequestContext, id: string): Promise<void> {
  await store.commit({ type: 'person.delete', origin, id: requireId(id, 'person_not_found') })
}

/** What a person is called; after they were erased, their subject. */
export function nameOf(person: PersonRecord | undefined, subject: string): string {
  return person?.name ?? person?.email ?? subject
}
