import { change, type Origin } from '../../kernel/changes.ts'
import { systemLedgerId } from '../../kernel/ledger/chain.ts'
import type { ProjectRecord } from '../../kernel/records.ts'

export interface ProjectCreation {
  origin: Origin
  id: string
  name: string
}

export interface ProjectDeletion {
  origin: Origin
  projectId: string
  ifMatch?: string
}

export interface ProjectRenaming extends ProjectDeletion {
  name: string
}

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
