import { type Algorithm, algorithmNames } from '@pubring/intake/algorithms'
import { sql } from 'kysely'
import type { Census, KeyCount } from '../../kernel/records.ts'
import type { Db } from '../../kernel/storage/schema.ts'
import { apiKeyColumns, apiKeyFromRow, isManaged } from '../api-keys/stored.ts'
import {
  apiKeyWarnings,
  expiringKey,
  lastWarnedExpiry,
  urgency,
  type WarningKind,
  withoutActiveKey,
  withVouchedKeys,
} from './rules.ts'

/** Projects with warnings that are named, those with the most urgent ones first. */
const maxWarnedProjects = 200

/** Reads an index entry for every key, and at least one key of every project. */
export async function takeCensus(db: Db, time: string): Promise<Census> {
  const expiring = await expiringKeys(db, time)
  const without = await projectsWithoutActiveKey(db, time)
  const vouchers = await endedVouchers(db, time)
  const apiKeys = await db.selectFrom('api_key').select(apiKeyColumns).where(isManaged).execute()
  const ofProjects = [
    ...expiring.map((key) => ({ ...key, ...expiringKey(key.expire_time, time) })),
    ...without.map((project) => ({ ...project, ...withoutActiveKey })),
    ...vouchers.map((voucher) => ({ ...voucher, ...withVouchedKeys })),
  ]
  const kinds = [
    ...ofProjects,
    ...apiKeys.map(apiKeyFromRow).flatMap((apiKey) => apiKeyWarnings(apiKey, time)),
  ]
  const urgentFirst = urgency.flatMap((each) =>
    ofProjects.filter(({ severity }) => severity === each),
  )
  const projects = new Set(urgentFirst.map(({ project_id }) => project_id))
  return {
    keys: await countKeys(db, time),
    warnings: countKinds(kinds),
    warnedProjects: [...projects].slice(0, maxWarnedProjects),
  }
}

function countKinds(kinds: readonly WarningKind[]): Census['warnings'] {
  const grouped = Map.groupBy(kinds, ({ code, severity }) => `${code} ${severity}`)
  return [...grouped.values()].flatMap((group) =>
    group.slice(0, 1).map(({ code, severity }) => ({ code, severity, count: group.length })),
  )
}

/** Whether the key of this alias is active at the time, for all that its row says. */
const isActive = (key: string, time: string) =>
  sql`(${sql.ref(`${key}.enabled`)} = 1
    and (${sql.ref(`${key}.expire_time`)} is null or ${sql.ref(`${key}.expire_time`)} > ${time}))`

/** Active keys that expire soon, without one that was registered later and outlives them. */
async function expiringKeys(db: Db, time: string) {
  // The algorithms, so that the index of the census is used.
  const { rows } = await sql<{ project_id: string; expire_time: string }>`
    select key.project_id, key.expire_time from jwt_key as key
    where key.algorithm in (${sql.join(algorithmNames)}) and key.enabled = 1
      and key.expire_time > ${time} and key.expire_time <= ${lastWarnedExpiry(time)}
      and not exists (select 1 from jwt_key as successor
        where successor.project_id = key.project_id
          and successor.create_time > key.create_time and successor.enabled = 1
          and (successor.expire_time is null or successor.expire_time > key.expire_time))
    order by key.expire_time`.execute(db)
  return rows
}

/** The keys that are off, expired or deleted, and vouched for active ones. */
async function endedVouchers(db: Db, time: string) {
  // Not null, so that its index is used.
  const { rows } = await sql<{ project_id: string; introduced_by: string }>`
    select distinct key.project_id, key.introduced_by from jwt_key as key
    where key.introduced_by is not null and ${isActive('key', time)}
      and not exists (select 1 from jwt_key as voucher
        where voucher.project_id = key.project_id and voucher.id = key.introduced_by
          and ${isActive('voucher', time)})`.execute(db)
  return rows
}

async function projectsWithoutActiveKey(db: Db, time: string) {
  const { rows } = await sql<{ project_id: string }>`
    select project.id as project_id from project
    where exists (select 1 from jwt_key where jwt_key.project_id = project.id)
      and not exists (select 1 from jwt_key
        where jwt_key.project_id = project.id and ${isActive('jwt_key', time)})
    order by project.id`.execute(db)
  return rows
}

/** Reads an index entry for every key. */
export async function countKeys(db: Db, time: string): Promise<KeyCount[]> {
  const rows = await db
    .selectFrom('jwt_key')
    .select(['algorithm', 'enabled'])
    .select(({ fn, case: when }) => [
      when().when('expire_time', '<=', time).then(1).else(0).end().as('expired'),
      fn.countAll<number | string>().as('count'),
      fn.min('expire_time').as('first_expiry'),
    ])
    .groupBy(['algorithm', 'enabled', 'expired'])
    .execute()
  return rows.map((row) => ({
    algorithm: row.algorithm as Algorithm,
    enabled: row.enabled === 1,
    expired: row.expired === 1,
    count: Number(row.count),
    ...(row.first_expiry === null ? {} : { firstExpiry: row.first_expiry }),
  }))
}
