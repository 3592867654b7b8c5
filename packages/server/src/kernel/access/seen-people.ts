import { type Hooks, hook } from '../hooks.ts'
import type { Db } from '../storage/schema.ts'
import { isoTime } from '../values/times.ts'
import type { Identity } from './principal.ts'

/** A person who has signed in, with the claims of the last time. */
export interface SeenPerson extends Identity {
  id: string
  name: string
  claims: Readonly<Record<string, unknown>>
}

/** The people who have signed in since a time (ISO 8601). */
export const peopleSince = hook<[db: Db, since: string], Promise<SeenPerson[]>>('people since')

const seenMs = 30 * 24 * 3_600_000

/** The people who have signed in within the last 30 days before the time (ISO 8601). */
export async function seenPeople(hooks: Hooks, db: Db, time: string): Promise<SeenPerson[]> {
  return (await hooks.run(peopleSince, db, isoTime(Date.parse(time) - seenMs))).flat()
}
