/**
 * A table that is built at its first use and then kept for the life of the thread. The table must
 * be a pure function of nothing, so that it does not matter who asks first.
 */
export function lazy<T>(build: () => T): () => T {
  let table: { value: T } | undefined
  return () => {
    table ??= { value: build() }
    return table.value
  }
}
