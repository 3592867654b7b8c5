import { change, type Origin, type Transaction } from '../../kernel/changes.ts'
import { hook } from '../../kernel/hooks.ts'
import { type NewEvent, systemLedgerId } from '../../kernel/ledger/chain.ts'
import type { ProjectRecord } from '../../kernel/records.ts'

export interface ProjectCreation {
  origin: Origin
  id: string
  name: string
  /** The caller chose the id, which the project had elsewhere. */
  isOwnId?: boolean
  /** The name may be one that another project gave up within the last 24 hours. */
  release?: boolean
  /** Finds out whether it can be created, and stores nothing. */
  dryRun?: boolean
}

/** The project of a request, and the `ETag` that it must still have. */
export interface ProjectReference {
  projectId: string
  ifMatch?: string
}

export interface ProjectDeletion extends ProjectReference {
  origin: Origin
}

/** Without a name nothing changes. */
export interface ProjectRenaming
  extends ProjectDeletion,
    Partial<Pick<ProjectCreation, 'name' | 'release'>> {}

export const projectChanges = {
  createProject: change<ProjectCreation, ProjectRecord>('project.create', {
    ledgers: ({ id }) => [id, systemLedgerId],
  }),
  renameProject: change<ProjectRenaming, ProjectRecord>('project.rename', {
    ledgers: ({ projectId }) => [projectId, systemLedgerId],
  }),
  deleteProject: change<ProjectDeletion>('project.delete', {
    ledgers: ({ projectId }) => [projectId, systemLedgerId],
  }),
}

/** Deletes what is bound to a deleted project; returns the events for the ledger of the system. */
export const projectDeleted = hook<[tx: Transaction, projectId: string], Promise<NewEvent[]>>()
