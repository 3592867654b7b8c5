import { PubringError } from '../../errors.ts'
import type { Context, ProjectRef } from '../context.ts'
import { notFound } from '../faults.ts'
import { systemLedgerId } from '../ledger/chain.ts'
import type { ProjectIdentity } from '../records.ts'
import { parseId } from '../values/ids.ts'
import { auditAccess, permits, projectAccess, projectsWith } from './grants.ts'
import type { Principal } from './principal.ts'

/** Parses a UUID as an id and anything else as a name. */
export function parseProjectRef(text: string): ProjectRef {
  const id = parseId(text)
  return id === undefined ? { name: foldName(text) } : { id }
}

/** Lower-cases A to Z only: names are ASCII. */
export function foldName(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase())
}

/**
 * The project in the path, if the caller may see it. For a caller bound to projects, reads only
 * these: "does not exist" and "not visible" give the same error after the same time.
 */
export async function findProject(
  { store }: Context,
  { grants, validity }: Principal,
  idOrName: string,
): Promise<ProjectIdentity> {
  const ref = parseProjectRef(idOrName)
  const visible = projectsWith(grants, projectAccess)
  const read = visible === 'all' ? [ref] : visible.map((id) => ({ id }))
  const systemHead = validity.heads.find(({ ledgerId }) => ledgerId === systemLedgerId)?.hash
  const find = (each: ProjectRef) => store.identifyProject(each, systemHead)
  const found = await Promise.all(read.map(find))
  const project = found.find((each) => each !== undefined && matchesRef(ref, each))
  if (project === undefined) throw notFound('project_not_found')
  return project
}

function matchesRef(ref: ProjectRef, { id, name }: ProjectIdentity): boolean {
  return 'id' in ref ? ref.id === id : ref.name === name
}

/**
 * The ledger of the project in the path. An admin or auditor of all projects can still read that of a deleted
 * project, by its id; to other callers the project does not exist.
 */
export async function findLedger(
  context: Context,
  principal: Principal,
  idOrName: string,
): Promise<string> {
  try {
    return (await findProject(context, principal, idOrName)).id
  } catch (error) {
    const id = parseId(idOrName)
    const isAbsent = error instanceof PubringError && error.code === 'project_not_found'
    const readsEveryLedger = permits(principal.grants, auditAccess)
    if (!isAbsent || !readsEveryLedger || id === undefined || id === systemLedgerId) throw error
    if (!(await context.store.heads([id])).has(id)) throw error
    return id
  }
}
