import { useEffect } from 'react'

/** How long after scrolling the position is remembered, in milliseconds. */
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
