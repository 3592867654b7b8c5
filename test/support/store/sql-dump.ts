/** A database, on either engine. */
export interface Queried {
  engine: 'sqlite' | 'postgres'
  query(text: string): Promise<Record<string, unknown>[]>
}

/** The statements that create the tables and indexes, by name. */
export async function dumpSchema({ engine, query }: Queried): Promise<string[]> {
  const rows = await query(engine === 'sqlite' ? sqliteSchema : postgresSchema)
  return rows.map(({ sql }) => String(sql))
}

const sqliteSchema =
  "select sql from sqlite_master where sql is not null order by type = 'index', name"

/** Checks and foreign keys are left out, since no migration makes one. */
const postgresSchema = `
  select sql from (
    select 1 as part, relname as name, format('create table %I (%s)', relname, concat_ws(', ',
      (select string_agg(concat(
        format('%I %s', attname, format_type(atttypid, atttypmod)),
        ' collate ' || case when collname <> 'default' then quote_ident(collname) end,
        ' default ' || pg_get_expr(adbin, adrelid),
        case when attnotnull then ' not null' end), ', ' order by attnum)
      from pg_attribute
      left join pg_collation on pg_collation.oid = attcollation
      left join pg_attrdef on adrelid = attrelid and adnum = attnum
      where attrelid = pg_class.oid and attnum > 0 and not attisdropped),
      (select string_agg(
        format('constraint %I %s', conname, pg_get_constraintdef(oid)), ', ' order by conname)
      from pg_constraint where conrelid = pg_class.oid and contype in ('p', 'u')))) as sql
    from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace
    union all
    select 2, indexname, indexdef from pg_indexes
    where schemaname = 'public' and indexname not in (select conname from pg_constraint)
  ) as statements order by part, name`

/** The statements that insert all rows. */
export async function dumpRows({ engine, query }: Queried): Promise<string[]> {
  const statements: string[] = []
  const [columns, quote] =
    engine === 'sqlite'
      ? [
          "select m.name as relation, c.name from sqlite_master m, pragma_table_info(m.name) c where m.type = 'table' order by m.name, c.cid",
          'quote',
        ]
      : [
          "select table_name as relation, column_name as name from information_schema.columns where table_schema = 'public' order by 1, ordinal_position",
          'quote_nullable',
        ]
  for (const [relation, names] of Map.groupBy(await query(columns), (row) => row.relation)) {
    const listed = names.map(({ name }) => `"${name}"`)
    const values = listed.map((name) => `${quote}(${name})`).join(" || ', ' || ")
    const insert = `insert into ${relation} (${listed.join(', ')}) values (`
    const rows = await query(
      `select '${insert}' || ${values} || ')' as sql from ${relation} order by 1`,
    )
    statements.push(...rows.map(({ sql }) => String(sql)))
  }
  return statements
}
