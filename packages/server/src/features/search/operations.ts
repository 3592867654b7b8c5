import { projectsWith, readerAccess } from '../../kernel/access/grants.ts'
import type { RequestContext } from '../../kernel/access/principal.ts'
import type { Context } from '../../kernel/context.ts'
import { now } from '../../kernel/values/times.ts'
import { present } from '../../runtime/present.ts'
import type { KeyState } from '../keys/contract.ts'
import { situationOf } from '../keys/documents.ts'
import { keySetOf } from '../keys/key-sets.ts'
import { keyState } from '../keys/states.ts'
import type { KeyRecord } from '../keys/stored.ts'
import { readProjectNames, readProjects } from '../projects/reads.ts'
import type { Search } from './contract.ts'
import { matchKey, matchProject, type Needle, readQuery } from './needle.ts'
import { findKeys, findProjects } from './reads.ts'

type Result = Search['results'][number]

/** The projects to search, and the number of results wanted of each type. */
interface Scope {
  context: RequestContext
  /** The projects that the caller may see. */
  visible: 'all' | string[]
  limit: number
}

/**
 * Searches what the caller may see for a text, at most `limit` results of each type. For a caller that
 * is bound to projects, reads nothing of others, so that neither result nor time tells of them.
 */
export async function search(
  context: RequestContext,
  query: string,
  limit: number,
): Promise<Search> {
  const needle = await readQuery(context, query)
  const scope: Scope = {
    context,
    visible: projectsWith(context.principal.grants, readerAccess),
    limit: limit + 1,
  }
  const found = await Promise.all([searchKeys(scope, needle), searchProjects(scope, needle)])
  return {
    results: found.flatMap((results) => results.slice(0, limit)),
    hasMore: found.some((results) => results.length > limit),
  }
}

async function searchKeys(scope: Scope, needle: Needle): Promise<Result[]> {
  const { context, visible, limit } = scope
  const { store } = context
  const candidates =
    visible === 'all' ? await findKeys(store.reader, needle, limit) : await keysOf(store, visible)
  const found = matching(candidates, (key) => matchKey(needle, key), limit)
  const names = await readProjectNames(store.reader, found)
  const states = await readStates(
    context,
    found.filter(({ projectId }) => names.has(projectId)),
  )
  return found.map((key) => {
    const { matched, id: kid, projectId, publishedKid, label, algorithm } = key
    const shown = { projectId, ...names.get(projectId), kid, ...present({ publishedKid }) }
    return { type: 'key', matched, ...shown, label, algorithm, state: states.get(key) ?? 'off' }
  })
}

/** The states of the keys. Reads one project after another, since key sets may be large. */
async function readStates(context: RequestContext, found: readonly KeyRecord[]) {
  const time = now(context.clock)
  const states = new Map<KeyRecord, KeyState>()
  for (const [id, keys] of Map.groupBy(found, ({ projectId }) => projectId)) {
    const keySet = await keySetOf(context.store, id)
    if (keySet === undefined) continue
    const situation = await situationOf(context, id, keySet, time)
    for (const key of keys) states.set(key, keyState(key, situation))
  }
  return states
}

/** Leaves out projects that contradict their ledgers, whose keys cannot be read. */
async function keysOf(store: Context['store'], visible: string[]) {
  const projects = await readProjects(store.reader, visible)
  const keySets = await Promise.all(projects.map(({ id }) => keySetOf(store, id)))
  return keySets.flatMap((keySet) => keySet?.keys ?? [])
}

async function searchProjects(scope: Scope, needle: Needle): Promise<Result[]> {
  const { context, visible, limit } = scope
  const { store } = context
  const candidates =
    visible === 'all'
      ? await findProjects(store.reader, needle, limit)
      : await readProjects(store.reader, visible)
  const found = matching(candidates, (project) => matchProject(needle, project), limit)
  return found.map(({ id, name, matched }) => ({ type: 'project', matched, id, name }))
}

/** The first `limit` candidates that match, each once, with the member that does. */
function matching<Candidate extends { id: string; projectId?: string }, Member extends string>(
  candidates: readonly Candidate[],
  match: (candidate: Candidate) => Member | undefined,
  limit: number,
): (Candidate & { matched: Member })[] {
  const found = new Map<string, Candidate & { matched: Member }>()
  for (const candidate of candidates) {
    const matched = match(candidate)
    if (matched === undefined || found.size >= limit) continue
    found.set(`${candidate.projectId} ${candidate.id}`, { ...candidate, matched })
  }
  return [...found.values()]
}
