import { Alert, Button } from '@mantine/core'
import { IconAlertTriangle, IconRefresh } from '@tabler/icons-react'
import { Component, type ReactNode, useEffect, useState } from 'react'
import { useLocation } from 'wouter'

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
    return this.state.error === undefined ? (
      this.props.children
    ) : (
      <Failure error={this.state.error} />
    )
  }
}

function Failure({ error }: { error: unknown }) {
  const outdated = useIsOutdated()
  return (
    <Alert
      color={outdated ? 'petrol' : 'red'}
      icon={outdated ? <IconRefresh /> : <IconAlertTriangle />}
      title={outdated ? 'There is a new version of the console' : 'This page could not be shown'}
      role="alert"
    >
      {outdated
        ? 'The server was upgraded since this tab was opened.'
        : `${error instanceof Error ? error.message : 'Unexpected error'}. If the server can be reached, reload the page.`}{' '}
      What you typed is kept, except secrets.
      <br />
      <Button size="xs" mt="sm" onClick={() => location.reload()}>
        Reload
      </Button>
    </Alert>
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
