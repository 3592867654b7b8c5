import type { KeyRecord, ProjectRecord } from '../../kernel/records.ts'

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

/**
 * Searches by indexes. What is found may match in other ways than were asked for, so the caller
 * compares it; each call returns at most `limit` candidates of each way to match.
 */
export interface SearchReads {
  keys(needle: Needle, limit: number): Promise<KeyRecord[]>
  /** Whether more ids begin like this than `keys` looks through. */
  hasMoreKids(needle: Needle): Promise<boolean>
  projects(needle: Needle, limit: number): Promise<ProjectRecord[]>
  /** The projects with these ids that exist and do not contradict their ledgers, in no order. */
  projectsById(ids: readonly string[]): Promise<ProjectRecord[]>
}
