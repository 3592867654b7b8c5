import type { Person } from '../../contract/sign-in/sessions.ts'
import { PubringError } from '../../errors.ts'
import type { RequestContext } from '../access/principal.ts'
import type { Context } from '../context.ts'
import { parseId } from '../ids.ts'
import type { PersonRecord } from '../records.ts'

export function listPeople({ store }: Context): Promise<Person[]> {
  return store.listPeople()
}

/** Erases name and email of a person, and ends their sessions. Throws `person_not_found`. */
export async function deletePerson({ store, origin }: RequestContext, id: string): Promise<void> {
  const parsed = parseId(id)
  if (parsed === undefined) throw personNotFound()
  await store.commit({ type: 'person.delete', origin, id: parsed })
}

export function personNotFound(): PubringError {
  return new PubringError(
    'person_not_found',
    'There is no person with this id. GET /v1/people lists those who have signed in.',
  )
}

/** What a person is called; after they were erased, their subject. */
export function nameOf(person: PersonRecord | undefined, subject: string): string {
  return person?.name ?? person?.email ?? subject
}
