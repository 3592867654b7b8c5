import { useCallback, useRef } from 'react'

/** `nameOf` names a row for its checkbox. */
export type Selection<Row> = {
  selected: ReadonlySet<string>
  nameOf(row: Row): string
  onSelect(selected: Set<string>): void
}

/** Selects a row or, with Shift, all from the one that was selected last. */
export function useRangeSelection<Row extends { id: string }>(
  rows: Row[],
  selection: Selection<Row> | undefined,
) {
  const anchor = useRef<string>(undefined)
  const latest = useRef({ rows, selection })
  latest.current = { rows, selection }
  return useCallback((index: number, toAnchor: boolean) => {
    const { rows: shown, selection: current } = latest.current
    const row = shown[index]
    if (row === undefined || current === undefined) return
    const start = toAnchor ? shown.findIndex(({ id }) => id === anchor.current) : -1
    const [from, to] = start < 0 ? [index, index] : [Math.min(start, index), Math.max(start, index)]
    const next = new Set(current.selected)
    const isAdded = !next.has(row.id)
    for (const { id } of shown.slice(from, to + 1)) {
      if (isAdded) next.add(id)
      else next.delete(id)
    }
    anchor.current = row.id
    current.onSelect(next)
  }, [])
}
