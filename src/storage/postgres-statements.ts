import { hash } from 'node:crypto'

/** Lists of any length would prepare a statement for each length. */
const maxParameters = 32

/** The name under which a statement is prepared, equal on every connection; undefined: it is not. */
export function statementName(sql: string, parameters: number): string | undefined {
  if (parameters === 0 || parameters > maxParameters) return undefined
  return `pubring_${hash('sha256', sql, 'hex').slice(0, 24)}`
}
