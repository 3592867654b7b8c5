import type { LedgerEvent } from '../ledger/chain.ts'
import type { ApiKeyRecord, KeyRecord, ProjectRecord } from '../records.ts'

/** A text to search for, in the forms in which it is compared. */
export interface Needle {
  /** As it was sent, without white space around it and control characters. */
  text: string
  /** In lower case, as far as it is ASCII: labels and names begin with it. */
  folded: string
  /** The beginning of a UUID. */
  id?: string
  /** The beginning of a hash in lower-case hex. */
  hex?: string
  /** The beginning of a thumbprint or published kid. */
  prefix?: string
}

/** What the ledger says of a key that was deleted. */
export interface DeletedKey extends Pick<KeyRecord, 'id' | 'projectId' | 'publishedKid' | 'label'> {
  deleteTime: string
}

/**
 * Searches by indexes. What is found may match in other ways than were asked for, so the caller
 * compares it; each call returns at most `limit` candidates of each way to match.
 */
export interface SearchReads {
  keys(needle: Needle, limit: number): Promise<KeyRecord[]>
  /** Whether more ids begin like this than `keys` looks through. */
  hasMoreKids(needle: Needle): Promise<boolean>
  /** Found by kid or published kid, in one project or in all. */
  deletedKeys(needle: Needle, projectId: string | undefined, limit: number): Promise<DeletedKey[]>
  apiKeys(needle: Needle, limit: number): Promise<ApiKeyRecord[]>
  projects(needle: Needle, limit: number): Promise<ProjectRecord[]>
  /** Those that exist, in no order, without those that contradict their ledgers. */
  projectsById(ids: readonly string[]): Promise<ProjectRecord[]>
  /** Events of one request, in the ledgers of these projects or in all ledgers. */
  events(
    requestId: string,
    projects: 'all' | readonly string[],
    limit: number,
  ): Promise<LedgerEvent[]>
}
