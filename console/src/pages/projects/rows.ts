import type { Project, ProjectHealth, Warning } from '@pubring/client'
import { inOrder, sortedBy } from '../../components/sorting.ts'

export type ProjectRow = Project & { health?: ProjectHealth }

/** The warnings for which a project is to be looked at now, the most urgent first; others are counted. */
export const alarms = [
  { code: 'key_compromised', text: 'Compromised key', project: 'a compromised key' },
  { code: 'no_active_key', text: 'No active key', project: 'keys, but no active one' },
  { code: 'key_expires', text: 'Key expires soon', project: 'a key that expires within 7 days' },
]

const isRaised = ({ health }: ProjectRow, { code }: (typeof alarms)[number]): boolean =>
  health?.warnings.some((each) => each.code === code && each.severity !== 'info') === true

/** The index of the first alarm that the project raises; their number if it raises none. */
export function alarmOf(row: ProjectRow): number {
  const index = alarms.findIndex((alarm) => isRaised(row, alarm))
  return index === -1 ? alarms.length : index
}

export const projectOrders = {
  urgency: (row: ProjectRow) => [
    alarmOf(row),
    Date.parse(row.health?.nextExpireTime ?? '9999-12-31'),
    -(row.health?.warnings.length ?? 0),
  ],
  name: () => [],
  keys: ({ health }: ProjectRow) => [health?.keys.active ?? 0],
  expiry: ({ health }: ProjectRow) => [Date.parse(health?.nextExpireTime ?? '9999-12-31')],
  rotations: ({ health }: ProjectRow) => [-(health?.rotations ?? 0)],
  warnings: ({ health }: ProjectRow) => [-(health?.warnings.length ?? 0)],
}

export function sortedProjects(rows: ProjectRow[], sort: string): ProjectRow[] {
  const byName = sortedBy(rows, ({ name }) => [name], sort.startsWith('-'))
  return inOrder(byName, projectOrders, sort)
}

/** When a key or API key ends, what it is called, and where it is. */
type Ending = Pick<Warning, 'projectId' | 'kid'> & { time: string; name: string }

/** The expiries that warnings name, and the next one of each project, in the order of time. */
export function endingsOf(rows: ProjectRow[], warnings: Warning[]): Ending[] {
  const warned = warnings.flatMap(({ code, time, label, projectName, ...place }) => {
    const name = [projectName, label].filter(Boolean).join(': ')
    return code.endsWith('_expires') && time !== undefined ? [{ ...place, time, name }] : []
  })
  const next = rows.flatMap(({ id: projectId, name, health }) =>
    health?.nextExpireTime === undefined ? [] : [{ projectId, name, time: health.nextExpireTime }],
  )
  const isWarned = ({ projectId, time }: Ending) =>
    warned.some((each) => each.projectId === projectId && each.time === time)
  const all = [...warned, ...next.filter((each) => !isWarned(each))]
  return sortedBy(all, ({ time }) => [time])
}

/** The figures above the list; `raised`: how many projects raise each of the alarms. */
export function totalsOf(rows: ProjectRow[]) {
  return {
    projects: rows.length,
    activeKeys: rows.reduce((sum, { health }) => sum + (health?.keys.active ?? 0), 0),
    raised: alarms.map((alarm) => rows.filter((row) => isRaised(row, alarm)).length),
  }
}
