/** Builds a constant table on first use and keeps it for the life of the thread. */
export function lazy<T>(build: () => T): () => T {
  let table: { value: T } | undefined
  return () => {
    table ??= { value: build() }
    return table.value
  }
}
