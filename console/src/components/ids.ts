/** The end of an id, which is random: ids of one minute begin alike (RFC 9562 section 5.7). */
export const endOf = (id: string): string => `…${id.slice(-6)}`

/** Names the controls of each row, with the end of its id where other rows have its name. */
export function rowNames<Row extends { id: string }>(
  rows: readonly Row[],
  nameOf: (row: Row) => string,
): (row: Row) => string {
  const byName = Map.groupBy(rows, nameOf)
  return (row) => {
    const name = nameOf(row)
    return (byName.get(name)?.length ?? 0) > 1 ? `${name} ${endOf(row.id)}` : name
  }
}
