import { hash } from 'node:crypto'

/** Lists of any length would prepare a statement for each length. */
const maxParameters = 32

/** Names that are kept; there are far fewer distinct texts. */
const maxNames = 1_000

const names = new Map<string, string>()

/** The name under which a statement is prepared, equal on every connection; undefined: it is not. */
export function statementName(sql: string, parameters: number): string | undefined {
  if (parameters === 0 || parameters > maxParameters) return undefined
  const known = names.get(sql)
  if (known !== undefined) return known
  if (names.size >= maxNames) names.clear()
  const name = `pubring_${hash('sha256', sql, 'hex').slice(0, 24)}`
  names.set(sql, name)
  return name
}
