import { type BaseLocationHook, useSearchParams } from 'wouter'
import { useHashLocation } from 'wouter/use-hash-location'

/** The route in the URL fragment, such as `/projects/ID/history?type=key.deleted`, in two parts. */
function splitRoute(route: string): { path: string; query: string } {
  const [path = '/', query = ''] = route.split('?', 2)
  return { path, query }
}

/** The path in the address now, which the page that is shown may not have followed yet. */
export function currentPath(): string {
  return splitRoute(location.hash.replace(/^#/, '')).path
}

/** Goes to a route, or with `?…` to another query of the same page. */
function navigate(to: string, { replace = false }: { replace?: boolean } = {}): void {
  const route = to.startsWith('?') ? `${currentPath()}${to === '?' ? '' : to}` : to
  history[replace ? 'replaceState' : 'pushState'](null, '', `#${route}`)
  dispatchEvent(new HashChangeEvent('hashchange'))
}

/**
 * Routes of the console for wouter. Path and query are both in the URL fragment, which is never sent
 * to a server; wouter's own hook would send the query.
 */
export const useFragmentLocation: BaseLocationHook = Object.assign(
  (): [string, typeof navigate] => [splitRoute(useHashLocation()[0]).path, navigate],
  { hrefs: (href: string) => `#${href}`, searchHook: () => splitRoute(useHashLocation()[0]).query },
)

/** The query of the page, and a function that changes a part of it. */
export function useQueryParams(): [URLSearchParams, (part: Record<string, string>) => void] {
  const [params, setParams] = useSearchParams()
  const change = (part: Record<string, string>) =>
    setParams((old) => ({ ...Object.fromEntries(old), ...part }), { replace: true })
  return [params, change]
}
