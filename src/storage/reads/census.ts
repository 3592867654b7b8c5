import type { Algorithm } from '../../contract/algorithms.ts'
import { algorithmNames } from '../../contract/algorithms.ts'
import {
  apiKeyWarnings,
  expiringKey,
  expiryWindow,
  urgency,
  type WarningKind,
  withoutActiveKey,
  withVouchedKeys,
} from '../../core/finding/rules.ts'
import type { Census, KeyCount } from '../../core/records.ts'
import { apiKeyColumns, apiKeyFromRow } from '../row-mapping.ts'
import type { Db } from '../schema.ts'
import { isManaged } from './last-events.ts'

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

/** Active keys that expire soon, without one that was registered later and outlives them. */
async function expiringKeys(db: Db, time: string) {
  const [after, upTo] = expiryWindow(time)
  return (
    db
      .selectFrom('jwt_key as key')
      .select(['key.project_id', 'key.expire_time'])
      .$narrowType<{ expire_time: string }>()
      // So that the index of the census is used.
      .where('key.algorithm', 'in', algorithmNames)
      .where('key.enabled', '=', 1)
      .where('key.expire_time', '>', after)
      .where('key.expire_time', '<=', upTo)
      .where(({ not, exists, selectFrom }) =>
        not(
          exists(
            selectFrom('jwt_key as successor')
              .select('successor.id')
              .whereRef('successor.project_id', '=', 'key.project_id')
              .whereRef('successor.create_time', '>', 'key.create_time')
              .where('successor.enabled', '=', 1)
              .where(({ or, eb, ref }) =>
                or([
                  eb('successor.expire_time', 'is', null),
                  eb('successor.expire_time', '>', ref('key.expire_time')),
                ]),
              ),
          ),
        ),
      )
      .orderBy('key.expire_time')
      .execute()
  )
}

/** The keys that are off, expired or deleted, and vouched for active ones. */
async function endedVouchers(db: Db, time: string) {
  return (
    db
      .selectFrom('jwt_key as key')
      .select(['key.project_id', 'key.introduced_by'])
      .distinct()
      // So that its index is used.
      .where('key.introduced_by', 'is not', null)
      .where('key.enabled', '=', 1)
      .where(({ or, eb }) =>
        or([eb('key.expire_time', 'is', null), eb('key.expire_time', '>', time)]),
      )
      .where(({ not, exists, selectFrom }) =>
        not(
          exists(
            selectFrom('jwt_key as voucher')
              .select('voucher.id')
              .whereRef('voucher.project_id', '=', 'key.project_id')
              .whereRef('voucher.id', '=', 'key.introduced_by')
              .where('voucher.enabled', '=', 1)
              .where(({ or, eb }) =>
                or([eb('voucher.expire_time', 'is', null), eb('voucher.expire_time', '>', time)]),
              ),
          ),
        ),
      )
      .execute()
  )
}

async function projectsWithoutActiveKey(db: Db, time: string) {
  return db
    .selectFrom('project')
    .select('project.id as project_id')
    .where(({ exists, not, and, selectFrom }) => {
      const keys = selectFrom('jwt_key')
        .select('jwt_key.id')
        .whereRef('jwt_key.project_id', '=', 'project.id')
      const active = keys
        .where('enabled', '=', 1)
        .where(({ or, eb }) => or([eb('expire_time', 'is', null), eb('expire_time', '>', time)]))
      return and([exists(keys), not(exists(active))])
    })
    .orderBy('project.id')
    .execute()
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
