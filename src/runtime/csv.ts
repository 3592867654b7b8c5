/**
 * What spreadsheets take for a formula, and the apostrophe that escapes it: since that is escaped
 * too, removing one apostrophe restores every text.
 */
const formula = /^['=+\-@\t\r\n＝＋－＠]/u

/** A line of CSV (RFC 4180): every cell quoted, and formulas escaped. */
export function csvLine(cells: readonly string[]): string {
  const quoted = cells.map((text) => {
    const safe = formula.test(text) ? `'${text}` : text
    return `"${safe.replaceAll('"', '""')}"`
  })
  return `${quoted.join(',')}\r\n`
}

export function unescapeFormula(text: string): string {
  return text.startsWith("'") ? text.slice(1) : text
}
