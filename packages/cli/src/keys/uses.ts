import { type KeyReporter, type KeyUse, summarizeUse, type Verifiers } from '@pubring/client'
import { year10000 } from '@pubring/server/kernel/values/times'
import type { Session } from '../connection/session.ts'
import { confirm, type YesFlag } from '../terminal/confirm.ts'
import { usageError } from '../terminal/failures.ts'
import { readLines, sourceName } from '../terminal/files.ts'
import { type Column, formatTable, timeColumn } from '../terminal/table.ts'
import { parseDurationOption } from '../terminal/times.ts'

/** Kids in one report. */
const maxUses = 500

/** Reports the keys that the log of a gateway names. */
export async function reportUses(
  session: Session,
  file: string,
  { as: reporter, interval = '1h' }: { as: string; interval?: string },
): Promise<void> {
  const { client, project, terminal, print, notify } = session
  const seconds = parseDurationOption(interval, '--interval', '1m', '30d')
  const uses = await usesOf(readLines(file, terminal), session.now())
  if (uses === undefined) {
    throw usageError(
      `No line of ${sourceName(file)} has a kid, so nothing was reported: without one, the keys would look unused.`,
      'Have the gateway log kid=… and exp=… as docs/key-uses.md shows. A request without an accepted token has kid=-.',
    )
  }
  const newest = uses.toSorted((one, other) => (one.lastTime < other.lastTime ? 1 : -1))
  const body = { reporter, interval: seconds, uses: newest.slice(0, maxUses) }
  const { unknown } = await client.keyUses.report(project, body)
  const kids = unknown.map((index) => body.uses[index]?.kid ?? '')
  const known = body.uses.filter(({ kid }) => !kids.includes(kid))
  print({ reporter, reported: known, unknown: kids })
  notify(`Reported ${known.length} ${known.length === 1 ? 'key' : 'keys'} as ${reporter}.`)
  if (kids.length > 0) {
    notify(`Warning: no key of project ${project} has these kids of the log: ${kids.join(', ')}.`)
  }
}

interface LoggedUse {
  kid: string
  lastTime: string
  lastExp?: string
}

/** Text or JSON: `kid=K`, `"kid": "K"`. No kid is longer than 255 characters. */
const fieldOf = (name: string) => new RegExp(`\\b${name}(?:=|"? *: *)"?([^\\s",}]{0,255})`)
const kidField = fieldOf('kid')
const expField = fieldOf('exp')

/** RFC 3339; gateways also write the offset without a colon. */
const timeField = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)/

/**
 * What the lines say of each kid; a line without a time counts as now, and an `exp` that is no time in seconds
 * is left out. Undefined if none has a kid.
 */
async function usesOf(lines: AsyncIterable<string>, now: number): Promise<LoggedUse[] | undefined> {
  const uses = new Map<string, { time: number; exp: number }>()
  let isEmpty = true
  let hasField = false
  for await (const line of lines) {
    if (line.trim() === '') continue
    isEmpty = false
    const [field, kid = ''] = kidField.exec(line) ?? []
    if (field !== undefined) hasField = true
    if (/^(-|null|)$/.test(kid)) continue
    const time =
      Date.parse(timeField.exec(line)?.[0].replace(/(\d\d)(\d\d)$/, '$1:$2') ?? '') || now
    const logged = Number(expField.exec(line)?.[1])
    const exp = logged < year10000 / 1_000 ? logged : 0
    const known = uses.get(kid) ?? { time, exp }
    uses.set(kid, { time: Math.max(known.time, time), exp: Math.max(known.exp, exp) })
  }
  if (!isEmpty && !hasField) return undefined
  return [...uses].map(([kid, { time, exp }]) => ({
    kid,
    lastTime: new Date(time).toISOString(),
    ...(exp > 0 && { lastExp: new Date(exp * 1_000).toISOString() }),
  }))
}

const columns: readonly Column<KeyReporter>[] = [
  { heading: 'VERIFIER', value: ({ reporter }) => reporter },
  { heading: 'STATE', value: ({ silent }) => (silent ? 'silent' : 'reports') },
  timeColumn('LAST REPORT', ({ reportTime }) => reportTime),
  timeColumn('WITHOUT A GAP SINCE', ({ since }) => since),
]

export async function listReporters(session: Session): Promise<void> {
  const { client, project, terminal, print, notify } = session
  const reporters = await client.keyUses.reporters(project)
  print(reporters, () => formatTable(terminal, columns, reporters))
  if (reporters.length === 0) notify(`No verifier reports uses of keys of project ${project}.`)
}

const verifierColumns: readonly Column<Verifiers['verifiers'][number]>[] = [
  { heading: 'USER AGENT', value: ({ userAgent }) => userAgent, cut: true },
  { heading: 'KEY SET', value: ({ hasCurrentSet }) => (hasCurrentSet ? 'current' : 'older') },
  timeColumn('LAST FETCH', ({ time }) => time),
  { heading: 'HELD', value: ({ held }) => String(held) },
]

/** Lists who has had the key set, and what the list cannot know. */
export async function listVerifiers(session: Session): Promise<void> {
  const { client, project, terminal, print, notify } = session
  const seen = await client.keyUses.verifiers(project)
  print(seen, () => formatTable(terminal, verifierColumns, seen.verifiers))
  notify(
    `As seen by this replica since ${seen.since}, by what clients call themselves: not those behind a cache or at other replicas, and of several with one user agent only the last fetch.`,
  )
}

export async function removeReporter(session: Session, reporter: string): Promise<void> {
  await session.client.keyUses.removeReporter(session.project, reporter)
  session.print({ removed: reporter })
  session.notify(`Removed ${reporter}, with what it has reported.`)
}

/** The uses of keys of the project, by kid. */
async function readUses({ client, project }: Session): Promise<Map<string, KeyUse>> {
  const states = await client.keys.states(project)
  return new Map(states.flatMap(({ kid, use }) => (use === undefined ? [] : [[kid, use]])))
}

/**
 * Says what verifiers have reported of keys that are to end, and asks if one is in use. Says nothing in a
 * project where none reports.
 */
export async function confirmUses(
  session: Session,
  keys: readonly { id: string; label: string }[],
  flags: YesFlag,
): Promise<void> {
  const uses = await readUses(session)
  const now = session.now()
  const found = keys.flatMap(({ id, label }) => {
    const use = uses.get(id)
    return use === undefined ? [] : [{ label, ...summarizeUse(use, now) }]
  })
  for (const { label, text } of found) session.notify(`“${label}”: ${text}.`)
  const inUse = found.filter(({ verdict }) => verdict === 'in_use')
  if (inUse.length === 0) return
  await confirm(session.terminal, flags, {
    statement: `Verifiers still see ${inUse.length === 1 ? 'a key' : `${inUse.length} keys`} in use.`,
    question: 'Continue?',
  })
}
