import { change } from '../../kernel/changes.ts'

export interface AuditPass {
  projectId: string
  kids: string[]
  rules: string
  time: string
}

export const auditChanges = {
  passAudit: change<AuditPass>('key.pass_audit'),
}
