type PlainKind = 'text' | 'integer' | 'bigint' | 'boolean' | 'json'

/** Not null, unless it says otherwise. The `key` columns are the primary key, in their order. */
export type ColumnKind = `${'' | 'key ' | 'unique ' | 'nullable '}${PlainKind}`

export type Plain<Kind extends ColumnKind> = Kind extends `${string} ${infer Type}`
  ? Type & PlainKind
  : Kind & PlainKind

export function plainKind<Kind extends ColumnKind>(kind: Kind): Plain<Kind> {
  return kind.replace(/.* /, '') as Plain<Kind>
}

/** The columns of the primary key. */
export function keyColumnsOf(columns: Readonly<Record<string, ColumnKind>>): string[] {
  return Object.entries(columns).flatMap(([name, kind]) => (kind.startsWith('key ') ? [name] : []))
}
