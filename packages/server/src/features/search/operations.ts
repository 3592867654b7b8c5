import { projectsWith, readerAccess } from '../../kernel/access/grants.ts'
import type { RequestContext } from '../../kernel/access/principal.ts'
import type { Context } from '../../kernel/context.ts'
import { isActive } from '../../kernel/values/expiry.ts'
import { now } from '../../kernel/values/times.ts'
import { present } from '../../runtime/present.ts'
import type { Search } from './contract.ts'
import type { Needle } from './limits.ts'
import { matchKey, matchProject, readQuery } from './needle.ts'

type Result = Search['results'][number]

/** What is searched, and how much of each type is wanted. */
interface Scope extends Pick<Context, 'store'> {
  /** The projects that the caller may see. */
  visible: 'all' | string[]
  limit: number
  time: string
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
    store: context.store,
    visible: projectsWith(context.principal.grants, readerAccess),
    limit: limit + 1,
    time: now(context.clock),
  }
  const found = await Promise.all([findKeys(scope, needle), findProjects(scope, needle)])
  const isCut = scope.visible === 'all' && (await context.store.search.hasMoreKids(needle))
  return {
    results: found.flatMap((results) => results.slice(0, limit)),
    hasMore: isCut || found.some((results) => results.length > limit),
  }
}

async function findKeys(scope: Scope, needle: Needle): Promise<Result[]> {
  const { store, visible, limit, time } = scope
  const candidates =
    visible === 'all' ? await store.search.keys(needle, limit) : await keysOf(store, visible)
  const found = matching(candidates, (key) => matchKey(needle, key), limit)
  const names = await projectNames(scope, found)
  return found.map(({ matched, id: kid, projectId, publishedKid, label, algorithm, ...key }) => ({
    type: 'key',
    matched,
    projectId,
    ...names.get(projectId),
    kid,
    ...present({ publishedKid }),
    label,
    algorithm,
    active: isActive(key, time),
  }))
}

/** Leaves out projects that contradict their ledgers, whose keys cannot be read. */
async function keysOf(store: Scope['store'], visible: string[]) {
  const projects = await store.search.projectsById(visible)
  const keySets = await Promise.all(projects.map(({ id }) => store.keySet(id)))
  return keySets.flatMap((keySet) => keySet?.keys ?? [])
}

async function findProjects(scope: Scope, needle: Needle): Promise<Result[]> {
  const { store, visible, limit } = scope
  const candidates =
    visible === 'all'
      ? await store.search.projects(needle, limit)
      : await store.search.projectsById(visible)
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

/** The names of the projects that exist, by id. */
export async function projectNames(
  { store }: Pick<Context, 'store'>,
  found: readonly { projectId?: string }[],
): Promise<Map<string, { projectName: string }>> {
  const ids = [...new Set(found.flatMap(({ projectId }) => projectId ?? []))]
  const projects = ids.length === 0 ? [] : await store.search.projectsById(ids)
  return new Map(projects.map(({ id, name }) => [id, { projectName: name }]))
}
