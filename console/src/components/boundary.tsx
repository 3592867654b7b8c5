import { Button } from '@mantine/core'
import { Component, type ReactNode, Suspense, use, useEffect, useState } from 'react'
import { useLocation } from 'wouter'
import { messageOf } from './outage.ts'
import { LoadingPage, Notice } from './states.tsx'

/** How long after a page its dialogs are loaded, so that they open at once, even during an outage. */
const preloadMs = 1_000

type PropsOf<Part> = Part extends (props: infer Props extends object) => unknown ? Props : object

/** A part of a page whose code is loaded when it is first shown, or earlier by its `load`. */
export function lazyPart<
  Name extends string,
  Module extends Record<Name, (props: never) => ReactNode>,
>(load: () => Promise<Module>, name: Name, fallback?: ReactNode) {
  let loading: Promise<Module[Name]> | undefined
  const part = (props: PropsOf<Module[Name]>) => {
    loading ??= load().then((module) => module[name])
    return (
      <PageBoundary>
        <Suspense fallback={fallback}>
          <Loaded part={loading} props={props} />
        </Suspense>
      </PageBoundary>
    )
  }
  return Object.assign(part, { load })
}

const Loaded = (props: { part: Promise<(props: never) => ReactNode>; props: object }) =>
  use(props.part)(props.props as never)

export const lazyPage: typeof lazyPart = (load, name) => lazyPart(load, name, <LoadingPage />)

/** Loads code that the page needs later. `load` must not change between renders. */
export function usePreload(load: () => Promise<unknown>): void {
  useEffect(() => {
    // If it fails, the dialog reports the error when it is opened.
    const timer = setTimeout(() => load().catch(() => {}), preloadMs)
    return () => clearTimeout(timer)
  }, [load])
}

/** Shows what to do when a page fails to load or to render. The next page starts afresh. */
export function PageBoundary({ children }: { children: ReactNode }) {
  const [location] = useLocation()
  return <Boundary page={location}>{children}</Boundary>
}

/** React catches errors only in a class. */
export class Boundary extends Component<
  { children: ReactNode; page?: string },
  { error?: unknown }
> {
  override state: { error?: unknown } = {}

  static getDerivedStateFromError(error: unknown) {
    return { error }
  }

  override componentDidUpdate(previous: { page?: string }) {
    if (previous.page !== this.props.page) this.setState({ error: undefined })
  }

  override render() {
    const { error } = this.state
    return error === undefined ? this.props.children : <Failure error={error} />
  }
}

function Failure({ error }: { error: unknown }) {
  const outdated = useIsOutdated()
  return (
    <Notice
      tone={outdated ? 'info' : 'bad'}
      title={outdated ? 'There is a new version of the console' : 'This page could not be shown'}
      role="alert"
    >
      {outdated
        ? 'The server was upgraded since this tab was opened.'
        : `${messageOf(error)}. If the server can be reached, reload the page.`}{' '}
      What you typed is kept, except secrets.
      <br />
      <Button size="xs" mt="sm" onClick={() => location.reload()}>
        Reload
      </Button>
    </Notice>
  )
}

/** Whether the server has another version of the console: its page names another main script. */
function useIsOutdated(): boolean {
  const [outdated, setOutdated] = useState(false)
  useEffect(() => {
    const script = document.querySelector<HTMLScriptElement>('script[type=module]')?.src ?? ''
    const name = script.replace(/.*\//, '')
    fetch(document.baseURI, { cache: 'no-store' })
      .then(async (response) => setOutdated(response.ok && !(await response.text()).includes(name)))
      // The message says what to do without the server.
      .catch(() => {})
  }, [])
  return outdated
}
