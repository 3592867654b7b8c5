import type { Each } from '../context.ts'
import { isStorageUnavailable } from '../faults.ts'
import { classify, isTimeout } from './errors.ts'

/**
 * Reads the projects together. If a row cannot be read, as on a damaged page, or all of them not in time,
 * reads halves of them, so that only the projects that cannot be read have the error. If no project of a
 * half can be read in time, the database is slow, and the other half has the error too.
 */
export async function readEach<Found>(
  projectIds: readonly string[],
  read: (projectIds: readonly string[]) => Promise<Each<Found>>,
): Promise<Each<Found>> {
  try {
    return await read(projectIds)
  } catch (error) {
    if (!isStorageUnavailable(error)) throw error
    const isLate = isTimeout(error.cause)
    if (!isLate && classify(error.cause) !== 'unreadable') throw error
    if (projectIds.length === 1) return failed(projectIds, error)
    const half = Math.ceil(projectIds.length / 2)
    const first = await readEach(projectIds.slice(0, half), read)
    const rest = projectIds.slice(half)
    const errors = [...first.values()].filter((one) => one instanceof Error)
    const isSlow = isLate && half > 1 && errors.length === half
    return new Map([...first, ...(isSlow ? failed(rest, error) : await readEach(rest, read))])
  }
}

export function failed(projectIds: readonly string[], error: Error): Each<never> {
  return new Map(projectIds.map((id) => [id, error]))
}
