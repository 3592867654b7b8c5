import { useDebouncedCallback } from '@mantine/hooks'
import { useMemo, useState } from 'react'
import { type BaseLocationHook, useSearchParams } from 'wouter'
import { useHashLocation } from 'wouter/use-hash-location'
import type { Guarded } from './forms/text-fields.tsx'

/** The route in the URL fragment, such as `/projects/ID/history?type=key.deleted`, in two parts. */
function splitRoute(route: string): { path: string; query: string } {
  const [path = '/', query = ''] = route.split('?', 2)
  return { path, query }
}

/** The path in the address now, which the page that is shown may not have followed yet. */
const currentPath = (): string => splitRoute(location.hash.replace(/^#/, '')).path

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

/**
 * The members of the page's query, '' for those that the address does not have, and a function that
 * changes some of them. `names` must not change between renders.
 */
export function usePageQuery<Name extends string>(
  names: readonly Name[],
): [Record<Name, string>, (part: Partial<Record<Name, string>>) => void] {
  const [params, setParams] = useSearchParams()
  const query = useMemo(() => {
    const entries = names.map((name) => [name, params.get(name) ?? ''])
    return Object.fromEntries(entries) as Record<Name, string>
  }, [params, names])
  const change = (part: Partial<Record<Name, string>>) =>
    setParams(
      (old) => {
        const changed: Record<string, string> = { ...Object.fromEntries(old), ...part }
        return Object.entries(changed).filter(([, value]) => value !== '')
      },
      { replace: true },
    )
  return [query, change]
}

const typingMs = 200

/**
 * The props of a field whose text is in the address of the page. It is applied when the user stops
 * typing: browsers limit how often a page may change its address. A text whose page has been left by
 * then is dropped, as the address would lead back to that page.
 */
export function useTyped({ value, onValue }: Guarded): Guarded {
  const [typed, setTyped] = useState<string>()
  const apply = useDebouncedCallback((text: string, path: string) => {
    if (path === currentPath()) onValue(text)
    setTyped(undefined)
  }, typingMs)
  return {
    value: typed ?? value,
    onValue(text) {
      setTyped(text)
      apply(text, currentPath())
    },
  }
}
