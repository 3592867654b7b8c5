import { createSingleFlight } from '../../async/single-flight.ts'
import type { RequestContext } from '../../kernel/access/principal.ts'
import type { Context } from '../../kernel/context.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import { oneFor } from '../../kernel/shared.ts'
import type { Db } from '../../kernel/storage/schema.ts'
import { earliest, isoTime, latest, parseTime } from '../../kernel/values/times.ts'
import { always } from '../../kernel/values/validity.ts'
import { present } from '../../runtime/present.ts'
import type { KeyUses } from '../keys/changes.ts'
import type { KeyUse } from '../keys/contract.ts'
import { findByKid } from '../keys/kids.ts'
import { requireKeySet } from '../keys/operations.ts'
import { publisherOf } from '../publishing/publisher.ts'
import { keySetReadersOf } from '../publishing/readers.ts'
import { keyUseChanges } from './changes.ts'
import {
  defaultInterval,
  type KeyReporter,
  type KeyUseReport,
  type KeyUsesReported,
  type Verifiers,
} from './contract.ts'
import { readLastUses, readReporters } from './reads.ts'
import { lastOf, type Reporter, silentFrom } from './stored.ts'

/** How long the `exp` of a token counts after its use: an odd one must not keep a key in use for good. */
const maxLifetimeMs = 365 * 86_400_000

/** Throws `reporter_taken`, `reporter_limit_reached` or `rate_limited`. */
export async function reportKeyUses(
  context: RequestContext,
  projectId: string,
  { reporter, interval = defaultInterval, uses }: KeyUseReport,
): Promise<KeyUsesReported> {
  const { store, principal, origin } = context
  const { workload } = principal.actor
  // Exchanged API keys last minutes, so the name belongs to the workload.
  const owner = workload === undefined ? principal.callerId : JSON.stringify(workload)
  const { keys } = await requireKeySet(context, projectId)
  const found = uses.map(({ kid, lastTime, lastExp }, index) => {
    const ms = (text: string, name: string) => Date.parse(parseTime(text, `uses/${index}/${name}`))
    const time = Math.min(ms(lastTime, 'lastTime'), Date.parse(origin.time))
    const exp = lastExp === undefined ? 0 : ms(lastExp, 'lastExp')
    return { id: findByKid(keys, kid)?.id, time, exp: Math.min(exp, time + maxLifetimeMs) }
  })
  const byId = Map.groupBy(found, ({ id }) => id)
  await store.commit(keyUseChanges.reportKeyUses, {
    ...{ origin, projectId, owner, reporter, interval },
    uses: keys.flatMap(({ id }) => {
      const uses = byId.get(id)
      return uses === undefined ? [] : [{ id, ...lastOf(uses) }]
    }),
  })
  return { unknown: found.flatMap(({ id }, index) => (id === undefined ? [index] : [])) }
}

/** The reporters of a project, by name. */
export async function listReporters(
  { store, clock }: Context,
  projectId: string,
): Promise<KeyReporter[]> {
  const all = await readReporters(store.reader, { projectId })
  return all.map((one) => ({
    reporter: one.reporter,
    since: one.since,
    reportTime: isoTime(one.report_time),
    silent: silentFrom(one) <= clock.now(),
  }))
}

const readsOf = oneFor((_db: Db) => createSingleFlight<KeyUses>())

/** The uses of the keys. The head is read first, so they are at least as new. */
export async function readKeyUses({ store, clock }: Context, projectId: string): Promise<KeyUses> {
  const { reader } = store
  const { hash = '', eventlessTime = null } = (await store.heads([projectId])).get(projectId) ?? {}
  return readsOf(reader).run(`${projectId} ${hash} ${eventlessTime}`, async () => {
    const reporters = eventlessTime === null ? [] : await readReporters(reader, { projectId })
    const heads = [{ ledgerId: projectId, hash, eventlessTime }]
    if (reporters.length === 0) return { of: () => undefined, validity: { heads, ...always } }
    const from = clock.now()
    const until = Math.min(always.until, ...reporters.map(silentFrom).filter((ms) => ms > from))
    const of = usesBy(reporters, await readLastUses(reader, projectId), from)
    return { of, validity: { heads, from, until } }
  })
}

/** What the reporters, one or more, say of each key at the time. */
function usesBy(
  all: readonly Reporter[],
  lastUses: Awaited<ReturnType<typeof readLastUses>>,
  time: number,
): KeyUses['of'] {
  const silent = all.filter((one) => silentFrom(one) <= time)
  const counted = silent.length === all.length ? all : all.filter((one) => !silent.includes(one))
  const since = counted.map((one) => one.since).reduce(latest)
  const verifiers = {
    interval: Math.max(...counted.map((one) => one.report_interval)),
    reporters: all.length - silent.length,
    silent: silent.length,
    ...present({ silentSince: earliest(...silent.map((one) => isoTime(one.report_time))) }),
  }
  return ({ id, createTime }): KeyUse => {
    const last = lastUses.get(id)
    return {
      since: latest(since, createTime),
      ...verifiers,
      ...present({
        lastTime: last && isoTime(last.time),
        lastReporter: last?.reporter,
        lastExp: last?.exp ? isoTime(last.exp) : undefined,
      }),
    }
  }
}

/** The user agents that have fetched the key set from this process, the last requests first. */
export async function listVerifiers(kernel: Kernel, projectId: string): Promise<Verifiers> {
  const { fullJwks } = await publisherOf(kernel).published(projectId)
  const { since, byUserAgent } = keySetReadersOf(kernel).of(projectId)
  const verifiers = [...byUserAgent].map(([userAgent, { time, etag, held }]) => ({
    userAgent,
    time: isoTime(time),
    hasCurrentSet: etag === fullJwks.etag,
    held,
  }))
  return { since: isoTime(since), verifiers: verifiers.reverse() }
}
