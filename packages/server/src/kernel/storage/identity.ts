import { sql } from 'kysely'
import { MissingFileError } from '../../runtime/files.ts'

/** "Pubr" in ASCII: the `application_id` of our SQLite files (https://sqlite.org/fileformat.html, section 1.3). */
export const applicationId = 0x50_75_62_72

/** The tables and views of a SQLite file. */
export const sqliteTables = `select name from sqlite_schema
  where type in ('table', 'view') and name not like 'sqlite\\_%' escape '\\'`

/** The tables and views of a PostgreSQL schema, without those of extensions. */
export const postgresTables = (schema: string) => sql<{ name: string }>`
  select relname as name from pg_catalog.pg_class c
  where relkind in ('r', 'p', 'v', 'm', 'f')
  and relnamespace = (select oid from pg_catalog.pg_namespace where nspname = ${schema})
  and not exists (select 1 from pg_catalog.pg_depend d where d.objid = c.oid and d.deptype = 'e')
  order by relname`

/** The first migration creates both in one transaction. */
const ownTables = ['kysely_migration', 'migration_release']

/** Tables of another program that an error names. */
const maxNamed = 3

/**
 * Throws unless the database, which `name` names, has no tables yet or is one of Pubring. `application`:
 * the `application_id` of a SQLite file.
 */
export function requireOwnTables(
  name: string,
  tables: readonly string[],
  application = applicationId,
): void {
  const isOurs = ownTables.every((table) => tables.includes(table))
  const isUnclaimed = application === applicationId || application === 0
  if ((tables.length === 0 || isOurs) && isUnclaimed) return
  const named = tables.slice(0, maxNamed).join(', ') + (tables.length > maxNamed ? ', …' : '')
  const holds = named === '' ? 'is marked as that of' : `holds tables (${named}) of`
  throw new MissingFileError(
    `${name} ${holds} another program, and is not a database of Pubring. Nothing was changed. Name an empty one, or one of Pubring.`,
  )
}
