import { type Algorithm, algorithmNames, isInCommonJwks } from '@pubring/intake/algorithms'
import { sql } from 'kysely'
import type { Census, KeyCount } from '../../kernel/records.ts'
import type { Db } from '../../kernel/storage/schema.ts'
import { apiKeyColumns, apiKeyFromRow, isManaged } from '../api-keys/stored.ts'
import { linkPrefix } from '../keys/introduction.ts'
import type { Warning } from './contract.ts'
import { readProjectKeys } from './reads.ts'
import { apiKeyWarnings, compareUrgency, keyWarnings, lastWarnedExpiry } from './rules.ts'

/** Projects with warnings that are named, those with the most urgent ones first. */
const maxWarnedProjects = 200

/** Reads an index entry for every key, and the keys of all projects that may have warnings. */
export async function takeCensus(db: Db, time: string): Promise<Census> {
  const found = await Promise.all([
    projectsWithEndingKeys(db, time),
    projectsWithoutActiveKey(db, time),
    projectsOfVouchers(db, time),
    projectsOfLinks(db),
  ])
  const ids = [...new Set(found.flat().map(({ project_id }) => project_id))]
  const keysOf = await readProjectKeys(db, ids)
  const warnings = ids.flatMap((id) => keyWarnings(keysOf(id), time)).sort(compareUrgency)
  const apiKeys = await db.selectFrom('api_key').select(apiKeyColumns).where(isManaged).execute()
  const ofApiKeys = apiKeys.map(apiKeyFromRow).flatMap((apiKey) => apiKeyWarnings(apiKey, time))
  const warned = new Set(warnings.flatMap(({ projectId }) => projectId ?? []))
  return {
    keys: await countKeys(db, time),
    warnings: countKinds([...warnings, ...ofApiKeys]),
    warnedProjects: [...warned].slice(0, maxWarnedProjects),
  }
}

function countKinds(warnings: readonly Warning[]): Census['warnings'] {
  const grouped = Map.groupBy(warnings, ({ code, severity }) => `${code} ${severity}`)
  return [...grouped.values()].flatMap((group) =>
    group.slice(0, 1).map(({ code, severity }) => ({ code, severity, count: group.length })),
  )
}

/** Whether the key of this alias is active at the time, for all that its row says. */
const isActive = (key: string, time: string) =>
  sql`(${sql.ref(`${key}.enabled`)} = 1
    and (${sql.ref(`${key}.expire_time`)} is null or ${sql.ref(`${key}.expire_time`)} > ${time}))`

/** The projects with an active key that expires soon or is compromised. */
async function projectsWithEndingKeys(db: Db, time: string) {
  // The algorithms, so that the index of the census is used.
  const { rows } = await sql<{ project_id: string }>`
    select project_id from jwt_key
    where algorithm in (${sql.join(algorithmNames)}) and enabled = 1
      and expire_time > ${time} and expire_time <= ${lastWarnedExpiry(time)}
    union select project_id from jwt_key
    where algorithm in (${sql.join(algorithmNames)}) and enabled = 1 and end_reason = 'compromised'`.execute(
    db,
  )
  return rows
}

/** The projects in which a key that is off, expired or deleted vouched for an active one. */
async function projectsOfVouchers(db: Db, time: string) {
  // Not null, so that its index is used.
  const { rows } = await sql<{ project_id: string }>`
    select distinct key.project_id from jwt_key as key
    where key.introduced_by is not null and key.introduced_by not like ${`${linkPrefix}%`}
      and ${isActive('key', time)}
      and not exists (select 1 from jwt_key as voucher
        where voucher.project_id = key.project_id and voucher.id = key.introduced_by
          and ${isActive('voucher', time)})`.execute(db)
  return rows
}

/** The projects with a key that came through a registration link, and that nobody has activated. */
async function projectsOfLinks(db: Db) {
  const { rows } = await sql<{ project_id: string }>`
    select distinct project_id from jwt_key
    where introduced_by is not null and introduced_by like ${`${linkPrefix}%`}
      and enabled = 0 and end_time is null`.execute(db)
  return rows
}

/** The projects with keys, or keys for jwks.json, none of which is active. */
async function projectsWithoutActiveKey(db: Db, time: string) {
  const common = algorithmNames.filter((algorithm) => isInCommonJwks({ algorithm }))
  const { rows } = await sql<{ project_id: string }>`
    select project.id as project_id from project
    where exists (select 1 from jwt_key where jwt_key.project_id = project.id)
      and not exists (select 1 from jwt_key
        where jwt_key.project_id = project.id and ${isActive('jwt_key', time)}
          and jwt_key.algorithm in (${sql.join(common)}))`.execute(db)
  return rows
}

/** Reads an index entry for every key. */
export async function countKeys(db: Db, time: string): Promise<KeyCount[]> {
  const rows = await db
    .selectFrom('jwt_key')
    .select(['algorithm', 'enabled', 'end_reason'])
    .select(({ fn, case: when }) => [
      when().when('expire_time', '<=', time).then(1).else(0).end().as('expired'),
      fn.countAll<number | string>().as('count'),
      fn.min('expire_time').as('first_expiry'),
    ])
    .groupBy(['algorithm', 'enabled', 'expired', 'end_reason'])
    .execute()
  return rows.map((row) => ({
    algorithm: row.algorithm as Algorithm,
    enabled: row.enabled === 1,
    expired: row.expired === 1,
    compromised: row.end_reason === 'compromised',
    count: Number(row.count),
    ...(row.first_expiry === null ? {} : { firstExpiry: row.first_expiry }),
  }))
}
