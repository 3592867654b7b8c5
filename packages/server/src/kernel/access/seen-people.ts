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
export const peopleSince = hook<[db: Db, since: string], Promise<SeenPerson[]>>()

const seenMs = 30 * 24 * 3_600_000

/** The time (ISO 8601) since which a sign-in counts as one of the last 30 days. */
export function seenSince(time: string): string {
  return isoTime(Date.parse(time) - seenMs)
}

/** The people who have signed in within the last 30 days. */
export async function seenPeople(hooks: Hooks, db: Db, time: string): Promise<SeenPerson[]> {
  return (await hooks.run(peopleSince, db, seenSince(time))).flat()
}
