import type { Project, ProjectHealth } from '@pubring/client'

/** A project with its health, once that is loaded. */
export type ProjectRow = Project & { health?: ProjectHealth }

/** Epoch milliseconds at which tokens stop verifying, as far as is known: past if no key is active. */
export function breakTime({ health }: ProjectRow): number {
  if (health === undefined) return Number.POSITIVE_INFINITY
  const { keys, nextExpireTime } = health
  // A project that never had a key has no tokens either.
  if (keys.active === 0 && keys.off + keys.expired > 0) return 0
  return nextExpireTime === undefined ? Number.POSITIVE_INFINITY : Date.parse(nextExpireTime)
}

const orders = {
  urgency: (row: ProjectRow) => [breakTime(row), -(row.health?.warnings ?? 0)],
  name: () => [],
  keys: ({ health }: ProjectRow) => [health?.keys.active ?? 0],
  expiry: ({ health }: ProjectRow) => [Date.parse(health?.nextExpireTime ?? '9999-12-31')],
  rotations: ({ health }: ProjectRow) => [-(health?.rotations ?? 0)],
  warnings: ({ health }: ProjectRow) => [-(health?.warnings ?? 0)],
}
type ProjectOrder = keyof typeof orders

export const isProjectOrder = (name: string): name is ProjectOrder => Object.hasOwn(orders, name)

/** In the order of these numbers, and then by name. */
export function sortedProjects(
  rows: ProjectRow[],
  { by, descending }: { by: ProjectOrder; descending: boolean },
): ProjectRow[] {
  const sign = descending ? -1 : 1
  return rows
    .map((row) => ({ row, values: orders[by](row) }))
    .sort((one, other) => {
      const difference = one.values
        .map((value, at) => compare(value, other.values[at] ?? 0))
        .find((each) => each !== 0)
      return sign * (difference ?? compare(one.row.name, other.row.name))
    })
    .map(({ row }) => row)
}

const compare = <Value extends string | number>(a: Value, b: Value) => (a < b ? -1 : a > b ? 1 : 0)

type Totals = { projects: number; activeKeys: number; soon: number; withoutKey: number }

/**
 * The figures above the list. `soon`: projects with an expiry before the time `until`; `withoutKey`:
 * those that have keys, but no active one.
 */
export function totalsOf(rows: ProjectRow[], until: number): Totals {
  const times = rows.map(breakTime)
  return {
    projects: rows.length,
    activeKeys: rows.reduce((sum, { health }) => sum + (health?.keys.active ?? 0), 0),
    soon: times.filter((time) => time > 0 && time <= until).length,
    withoutKey: times.filter((time) => time === 0).length,
  }
}
