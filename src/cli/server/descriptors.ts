import process from 'node:process'

/**
 * Descriptors reserved for files, threads and pipes (a process has some fifty): without a free one it
 * can neither open its database nor accept a connection.
 */
const reserved = 100

/**
 * Concurrent connections that the process accepts; it closes further ones immediately. Undefined if
 * the system does not limit open files.
 */
export function maxConnections(): number | undefined {
  const limit = openFilesLimit()
  return limit && Math.max(Math.floor(limit / 4), limit - reserved)
}

/** The soft limit of open files; Node raises it to the hard limit at startup. */
function openFilesLimit(): number | undefined {
  const { userLimits }: { userLimits?: { open_files?: { soft?: unknown } } } =
    process.report.getReport()
  const soft = userLimits?.open_files?.soft
  return typeof soft === 'number' ? soft : undefined
}
