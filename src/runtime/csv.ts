/**
 * Matches a text that a spreadsheet takes for a formula, and one with the apostrophe that escapes it:
 * removing one apostrophe restores every text.
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
