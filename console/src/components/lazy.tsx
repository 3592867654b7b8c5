import { type ReactNode, Suspense, useEffect } from 'react'
import { Boundary } from './boundary.tsx'

/** A component of a module, for `lazy` of React. */
export async function componentOf<Module, Name extends keyof Module>(
  module: Promise<Module>,
  name: Name,
): Promise<{ default: Module[Name] }> {
  return { default: (await module)[name] }
}

/** How long after a page its dialogs are loaded, so that they open at once, even during an outage. */
const preloadMs = 1_000

/** Loads code that the page needs later. `load` must not change between renders. */
export function usePreload(load: () => Promise<unknown>): void {
  useEffect(() => {
    // If it fails, the dialog reports the error when it is opened.
    const timer = setTimeout(() => load().catch(() => {}), preloadMs)
    return () => clearTimeout(timer)
  }, [load])
}

/** A part of a page whose code is loaded when it is shown. */
export function LazyPart(props: { fallback?: ReactNode; children: ReactNode }) {
  return (
    <Boundary>
      <Suspense fallback={props.fallback}>{props.children}</Suspense>
    </Boundary>
  )
}
