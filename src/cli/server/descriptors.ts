import process from 'node:process'

/**
 * Descriptors that are kept for files, threads and pipes, of which a process has some fifty: a
 * process that has none left cannot open its database or accept a connection.
 */
const reserve = 100

/**
 * Connections that the process may have at the same time; the ones beyond it are closed at once.
 * Undefined where the system sets no limit to open files.
 */
export function mostConnections(): number | undefined {
  const limit = openFilesLimit()
  return limit && Math.max(Math.floor(limit / 4), limit - reserve)
}

/** The soft limit of open files, which Node has raised to the hard one at its start. */
function openFilesLimit(): number | undefined {
  const report: unknown = process.report.getReport()
  const limits = memberOf(report, 'userLimits')
  const soft = memberOf(memberOf(limits, 'open_files'), 'soft')
  return typeof soft === 'number' ? soft : undefined
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
}
