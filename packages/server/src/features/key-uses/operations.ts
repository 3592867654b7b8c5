import { createSingleFlight } from '../../async/single-flight.ts'
import type { RequestContext } from '../../kernel/access/principal.ts'
import type { Context } from '../../kernel/context.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import { oneFor } from '../../kernel/shared.ts'
import type { Db } from '../../kernel/storage/schema.ts'
import { earliest, isoTime, latest, parseTime } from '../../kernel/values/times.ts'
import { always, spanUntilExpiry } from '../../kernel/values/validity.ts'
import { present } from '../../runtime/present.ts'
import type { KeyUses } from '../keys/changes.ts'
import type { KeyUse } from '../keys/contract.ts'
import type { KeyRecord } from '../keys/stored.ts'
import { keyUseChanges } from './changes.ts'
import {
  defaultInterval,
  type KeyReporter,
  type KeyUseReport,
  type KeyUsesReported,
} from './contract.ts'
import { type LastUse, readLastUses, readReporters, versionsOf } from './reads.ts'
import { type ReporterRow, silentFrom } from './stored.ts'

/** Throws `reporter_taken`, `reporter_limit_reached` or `rate_limited`. */
export async function reportKeyUses(
  { store, principal, origin }: RequestContext,
  projectId: string,
  { reporter, interval = defaultInterval, uses }: KeyUseReport,
): Promise<KeyUsesReported> {
  const { workload } = principal.actor
  // Exchanged API keys last minutes, so the name belongs to the workload.
  const owner = workload === undefined ? principal.callerId : JSON.stringify(workload)
  const parsed = uses.map(({ kid, lastTime, lastExp }, index) => ({
    kid,
    lastTime: parseTime(lastTime, `uses/${index}/lastTime`),
    ...(lastExp !== undefined && { lastExp: parseTime(lastExp, `uses/${index}/lastExp`) }),
  }))
  const report = { reporter, interval, uses: parsed }
  return store.commit(keyUseChanges.reportKeyUses, { origin, projectId, owner, ...report })
}

/** Throws `reporter_not_found`. */
export async function removeReporter(
  { store, origin }: RequestContext,
  projectId: string,
  reporter: string,
): Promise<void> {
  await store.commit(keyUseChanges.removeReporter, { origin, projectId, reporter })
}

/** The reporters of a project, by name. */
export async function listReporters(
  { store, clock }: Context,
  projectId: string,
): Promise<KeyReporter[]> {
  const time = clock.now()
  return (await readReporters(store.reader, { projectId })).map((row) => ({
    reporter: row.reporter,
    interval: row.report_interval,
    since: row.since,
    reportTime: row.report_time,
    silent: silentFrom(row) <= time,
  }))
}

const readsOf = oneFor((_db: Db) => createSingleFlight<KeyUses>())

/** The uses of the keys. The version is read first, so they are at least as new. */
export async function readKeyUses(
  { store: { reader }, clock }: Kernel,
  projectId: string,
): Promise<KeyUses> {
  const readVersion = async () => (await versionsOf(reader)([projectId])).get(projectId)
  const version = await readVersion()
  const isCurrent = async () => (await readVersion()) === version
  return readsOf(reader).run(`${projectId} ${version}`, async () => {
    const reporters = version === undefined ? [] : await readReporters(reader, { projectId })
    if (reporters.length === 0) return { of: () => undefined, span: always, isCurrent }
    const uses = await readLastUses(reader, projectId)
    const time = clock.now()
    const verifiers = verifiersOf(reporters, time)
    const ends = reporters.map((reporter) => ({ expireTime: isoTime(silentFrom(reporter)) }))
    return {
      of: (key) => toKeyUse(key, verifiers, uses.get(key.id)),
      span: spanUntilExpiry(ends, time),
      isCurrent,
    }
  })
}

type Verifiers = Pick<KeyUse, 'since' | 'interval' | 'reporters' | 'silent' | 'silentSince'>

function verifiersOf(all: readonly ReporterRow[], time: number): Verifiers {
  const silent = all.filter((reporter) => silentFrom(reporter) <= time)
  const counted = silent.length === all.length ? all : all.filter((one) => !silent.includes(one))
  return {
    since: counted.map(({ since }) => since).reduce(latest),
    interval: Math.max(...counted.map(({ report_interval }) => report_interval)),
    reporters: all.length - silent.length,
    silent: silent.length,
    ...present({ silentSince: earliest(...silent.map(({ report_time }) => report_time)) }),
  }
}

function toKeyUse(
  { createTime }: KeyRecord,
  { since, ...verifiers }: Verifiers,
  last: LastUse | undefined,
): KeyUse {
  return {
    since: latest(since, createTime),
    ...verifiers,
    ...(last && {
      lastTime: last.time,
      lastReporter: last.reporter,
      ...present({ lastExp: last.exp ?? undefined }),
    }),
  }
}
