import {
  defaultRangeExtractor,
  useWindowVirtualizer,
  type Virtualizer,
} from '@tanstack/react-virtual'
import {
  type KeyboardEvent,
  type RefObject,
  useCallback,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from 'react'

/** In pixels, until a row is measured. */
const estimatedRowHeight = 62

const overscan = 4

type RowVirtualizer = Virtualizer<Window, Element>
type Body = RefObject<HTMLTableSectionElement | null>

/** The row with the focus stays rendered wherever the user scrolls. */
export function useRowVirtualizer(
  rows: { id: string }[],
  body: Body,
  focusedRow: RefObject<number | undefined>,
): RowVirtualizer {
  const [scrollMargin, setScrollMargin] = useState(0)
  useLayoutEffect(() => {
    const top = body.current?.getBoundingClientRect().top ?? 0
    setScrollMargin(Math.round(top + window.scrollY))
  })
  return useWindowVirtualizer<Element>({
    count: rows.length,
    estimateSize: () => estimatedRowHeight,
    getItemKey: (index) => rows[index]?.id ?? index,
    overscan,
    scrollMargin,
    scrollPaddingStart: 120,
    rangeExtractor: (range) => {
      const indexes = defaultRangeExtractor(range)
      const focused = hasFocus(body) ? focusedRow.current : undefined
      if (focused === undefined || focused >= range.count) return indexes
      return [...new Set([...indexes, focused])].toSorted((a, b) => a - b)
    },
  })
}

const hasFocus = (body: Body) => body.current?.contains(document.activeElement) === true

export function indexOf(element: Element): number | undefined {
  const index = element.closest('[data-index]')?.getAttribute('data-index')
  return index == null ? undefined : Number(index)
}

const focusable = 'a[href], button, input'

/** Handles the keys that move the focus to the same control of another row. */
export function useRowFocus(virtualizer: RowVirtualizer, body: Body, count: number) {
  const target = useRef<{ index: number; position: number }>(undefined)
  const focus = useCallback(() => {
    if (target.current === undefined) return
    const { index, position } = target.current
    const row = body.current?.querySelector(`[data-index="${index}"]`)
    const controls = [...(row?.querySelectorAll<HTMLElement>(focusable) ?? [])]
    const control = controls[Math.min(position, controls.length - 1)]
    if (control === undefined) return
    target.current = undefined
    control.focus({ preventScroll: true })
  }, [body])
  // The row may be rendered only after scrolling.
  useEffect(focus)
  return (event: KeyboardEvent) => {
    const { target: control } = event
    if (event.defaultPrevented || !(control instanceof HTMLElement)) return
    const index = body.current?.contains(control) ? indexOf(control) : undefined
    if (index === undefined) return
    const to = { ArrowDown: index + 1, ArrowUp: index - 1, Home: 0, End: count - 1 }[event.key]
    if (to === undefined || to < 0 || to >= count) return
    event.preventDefault()
    const row = control.closest('[data-index]')
    const controls = [...(row?.querySelectorAll<HTMLElement>(focusable) ?? [])]
    target.current = { index: to, position: controls.indexOf(control) }
    virtualizer.scrollToIndex(to)
    focus()
  }
}

const scrollMs = 150

/** Restores the scroll position on the way back from another page. It is kept in the browser's history. */
export function useScrollMemory(): void {
  useEffect(() => {
    // After the page has focused its heading.
    const { scroll } = Object(history.state)
    if (typeof scroll === 'number') window.scrollTo(0, scroll)
    let timer: ReturnType<typeof setTimeout> | undefined
    function remember() {
      clearTimeout(timer)
      timer = setTimeout(() => {
        history.replaceState({ ...history.state, scroll: window.scrollY }, '')
      }, scrollMs)
    }
    window.addEventListener('scroll', remember)
    return () => {
      clearTimeout(timer)
      window.removeEventListener('scroll', remember)
    }
  }, [])
}

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
