import type { KeyImportReport } from '../../../client/src/index.ts'
import type { Session } from '../connection/session.ts'
import { CommandError } from '../terminal/failures.ts'
import type { ImportRow } from './rows.ts'

/** The error for a project that is too full for its rows, if nothing else is wrong with any row. */
export async function keyLimitError(
  { client }: Session,
  rows: readonly ImportRow[],
): Promise<CommandError | undefined> {
  const isFull = ({ errors }: ImportRow) => errors.some(({ code }) => code === 'key_limit_reached')
  const full = rows.find(isFull)
  const other = rows.find((row) => row.errors.length === 0 && row.project === full?.project)
  if (full?.item === undefined || rows.some((row) => row.errors.length > 0 && !isFull(row))) return
  const { project } = full
  const count = rows.filter((row) => row.project === project && row.outcome !== 'present').length
  for (const row of rows.filter(isFull)) Object.assign(row, { errors: [], outcome: 'not_sent' })
  if (other?.item === undefined) return noRoom(project, 0, count)
  const { room } = await client.keys.import(project, { keys: [other.item], dryRun: true })
  const { before, limit } = room.keys
  return noRoom(project, limit - before, count)
}

function noRoom(project: string, room: number, count: number): CommandError {
  const [free, all] = [room, count].map((each) => each.toLocaleString('en-US'))
  const detail = `Project ${project} has room for ${free} of ${all} keys; raise PUBRING_MAX_KEYS_PER_PROJECT.`
  return nothingImported('key_limit_reached', detail)
}

/** The report of the server on one request of a dry run. */
export interface ProjectReport {
  project: string
  report: KeyImportReport
}

/** Requests that fit alone may not fit together. */
export function overflowError(reports: readonly ProjectReport[]): CommandError | undefined {
  for (const [project, group] of Map.groupBy(reports, (each) => each.project)) {
    const keys = totalRoom(group, 'keys')
    if (keys.after > keys.limit) {
      return noRoom(project, keys.limit - keys.before, keys.after - keys.before)
    }
    const { after, limit } = totalRoom(group, 'jwksBytes')
    if (after > limit) {
      const detail = `The key set of project ${project} would have ${after} bytes, and at most ${limit} are allowed, because many verifiers read no more: import some keys inactive, or raise PUBRING_MAX_JWKS_BYTES.`
      return nothingImported('jwks_too_large', detail)
    }
  }
  return undefined
}

/** How far all requests together fill a project. */
function totalRoom(reports: readonly ProjectReport[], kind: keyof KeyImportReport['room']) {
  const rooms = reports.map(({ report }) => report.room[kind])
  const { before = 0, limit = 0 } = rooms[0] ?? {}
  const after = rooms.reduce((sum, room) => sum + room.after - room.before, before)
  return { before, after, limit }
}

function nothingImported(code: string, detail: string): CommandError {
  return new CommandError('conflict', `${detail} Nothing was imported.`, { code })
}
