import type { RequestContext } from '../../kernel/access/principal.ts'
import type { Context } from '../../kernel/context.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import type { Db } from '../../kernel/storage/schema.ts'
import { earliest, isoTime, latest, parseTime } from '../../kernel/values/times.ts'
import { always, includes, spanUntilExpiry, type TimeSpan } from '../../kernel/values/validity.ts'
import { present } from '../../runtime/present.ts'
import type { KeyUses } from '../keys/changes.ts'
import type { KeyUse } from '../keys/contract.ts'
import type { KeyRecord, KeySet } from '../keys/stored.ts'
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
  return (await readReporters(store.reader, { projectId })).map((reporter) => ({
    reporter: reporter.name,
    interval: reporter.report_interval,
    since: reporter.since,
    reportTime: reporter.report_time,
    silent: silentFrom(reporter) <= time,
  }))
}

interface Read extends KeyUses {
  version: string | undefined
  span: TimeSpan
}

/** A key set is in memory until the project changes, and what was read of its uses is evicted with it. */
const readOfKeySet = new WeakMap<KeySet, Promise<Read>>()

/**
 * The uses of the keys, from memory until the next report or the next silence. The version is read
 * first, so the uses are at least as new.
 */
export async function readKeyUses(
  { store, clock }: Kernel,
  projectId: string,
  keySet: KeySet,
): Promise<KeyUses> {
  const versionOf = async () => (await versionsOf(store.reader)([projectId])).get(projectId)
  const version = await versionOf()
  const pending = readOfKeySet.get(keySet)
  const known = await pending
  const time = clock.now()
  if (known?.version === version && known && includes(known.span, time)) return known
  // Another caller has begun meanwhile, with the same version or a newer one.
  const other = readOfKeySet.get(keySet)
  if (other !== undefined && other !== pending) return other
  const read = readVersion(store.reader, projectId, version, time).then((uses) => ({
    ...uses,
    isCurrent: async () => (await versionOf()) === version,
  }))
  readOfKeySet.set(keySet, read)
  read.catch(() => readOfKeySet.delete(keySet))
  return read
}

async function readVersion(
  db: Db,
  projectId: string,
  version: string | undefined,
  time: number,
): Promise<Omit<Read, 'isCurrent'>> {
  const reporters = version === undefined ? [] : await readReporters(db, { projectId })
  if (reporters.length === 0) return { version, span: always, of: () => undefined }
  const uses = await readLastUses(db, projectId)
  const ends = reporters.map((reporter) => ({ expireTime: isoTime(silentFrom(reporter)) }))
  const verifiers = verifiersOf(reporters, time)
  return {
    version,
    span: spanUntilExpiry(ends, time),
    of: (key) => toKeyUse(key, verifiers, uses.get(key.id)),
  }
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
