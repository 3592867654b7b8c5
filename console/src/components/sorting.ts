/** The rows by these values, of which each decides where those before it are equal. */
export function sortedBy<Row>(
  rows: Row[],
  valuesOf: (row: Row) => (string | number)[],
  isDescending = false,
): Row[] {
  const sign = isDescending ? -1 : 1
  return rows
    .map((row) => ({ row, values: valuesOf(row) }))
    .sort((one, other) => {
      const at = one.values.findIndex((value, index) => value !== other.values[index])
      return (one.values[at] ?? 0) < (other.values[at] ?? 0) ? -sign : at < 0 ? 0 : sign
    })
    .map(({ row }) => row)
}

type Order<Row> = (row: Row) => (string | number)[]

/** A text such as `name` or, descending, `-name` if it is one of the orders, and `initial` otherwise. */
export const knownOrder = (orders: Record<string, unknown>, sort: string, initial: string) =>
  Object.hasOwn(orders, sort.replace(/^-/, '')) ? sort : initial

export const inOrder = <Row>(
  rows: Row[],
  orders: Record<string, Order<Row>>,
  sort: string,
): Row[] => sortedBy(rows, orders[sort.replace(/^-/, '')] ?? (() => []), sort.startsWith('-'))
