import { useEffect } from 'react'

/** Names the page in the tab and the history of the browser, and for screen readers. */
export function usePageTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Pubring`
  }, [title])
}
