/** Whether the URL of a database is one of PostgreSQL, and not of a SQLite file. */
export function isPostgres(url: string): boolean {
  return /^postgres(ql)?:\/\//.test(url)
}
