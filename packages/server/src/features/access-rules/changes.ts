import { change, type Origin, type RecordChange, type RecordUpdate } from '../../kernel/changes.ts'
import type { AccessRuleUpdate } from './contract.ts'
import type { AccessRuleRecord } from './stored.ts'

export interface AccessRuleCreation {
  origin: Origin
  rule: AccessRuleRecord
}

export const accessRuleChanges = {
  createAccessRule: change<AccessRuleCreation, AccessRuleRecord>('access_rule.create', {
    events: ({ rule }) => ({ subjects: [rule.id] }),
  }),
  updateAccessRule: change<RecordUpdate<AccessRuleUpdate>, AccessRuleRecord>('access_rule.update'),
  deleteAccessRule: change<RecordChange>('access_rule.delete'),
}
