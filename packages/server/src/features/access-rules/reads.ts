import type { Db } from '../../kernel/storage/schema.ts'
import { locked, statement } from '../../kernel/storage/statements.ts'
import { type AccessRuleRecord, accessRules, type PeopleRule, type WorkloadRule } from './stored.ts'

/** By creation. */
export function readAccessRules(db: Db): Promise<AccessRuleRecord[]> {
  return accessRules.read(db, (all) => all.orderBy('id'))
}

const peopleRules = (db: Db) => accessRules.rows(db).where('for', '=', 'people')
const allPeopleRules = statement((db) => peopleRules(db).orderBy('id'))
/** Leaves the rules for workloads unlocked: their exchanges would wait. */
const lockPeopleRules = statement((db) => locked(db, peopleRules(db)))

export async function readPeopleRules(
  db: Db,
  { isLocked }: { isLocked: boolean },
): Promise<PeopleRule[]> {
  const rows = await (isLocked ? lockPeopleRules : allPeopleRules)(db, {})
  return accessRules.check(db, rows).filter(isForPeople)
}

export async function readWorkloadRules(db: Db): Promise<WorkloadRule[]> {
  const rules = await accessRules.read(db, (all) =>
    all.where('for', '=', 'workloads').orderBy('id'),
  )
  return rules.filter(isForWorkloads)
}

export const isForPeople = (rule: AccessRuleRecord): rule is PeopleRule => rule.for === 'people'
export const isForWorkloads = (rule: AccessRuleRecord): rule is WorkloadRule =>
  rule.for === 'workloads'
