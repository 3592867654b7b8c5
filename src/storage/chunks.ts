/** Rows or values for one statement: engines allow some ten thousands of parameters in each. */
const chunkSize = 500

/** The list in pieces that one statement can take. */
export function chunked<Item>(items: readonly Item[]): Item[][] {
  const chunks: Item[][] = []
  for (let start = 0; start < items.length; start += chunkSize) {
    chunks.push(items.slice(start, start + chunkSize))
  }
  return chunks
}
