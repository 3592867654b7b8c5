import type { Warning } from '@pubring/client'
import { Notice } from '../components/states.tsx'
import { localTime, TextLink, withVisibleControls } from '../components/text.tsx'
import { useApi } from '../session/session.tsx'
import { placeOf } from './places.ts'

/**
 * The warnings of the service. They are read again when the user goes to another page, by the bell, or
 * comes back to the tab, and not by a timer, because that would keep an unattended session alive.
 */
export function useWarnings() {
  return useApi(['warnings'], (client, signal) => client.warnings({ signal }), {
    staleTime: 10_000,
  })
}

/** The meaning of a warning and what to do, with its ISO 8601 times as local times. */
export const textOf = ({ detail }: Warning): string =>
  withVisibleControls(detail.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, localTime))

/** The warnings about single keys of a project, the most urgent first; of one key, if `kid` is given. */
export function ProjectWarnings({ projectId, kid }: { projectId: string; kid?: string }) {
  const { data = [] } = useWarnings()
  const own = data.filter((each) => each.projectId === projectId && each.kid !== undefined)
  const shown = kid === undefined ? own : own.filter((each) => each.kid === kid)
  if (shown.length === 0) return null
  return (
    <Notice
      tone={shown[0]?.severity === 'critical' ? 'bad' : 'warning'}
      mb="sm"
      role="status"
      className="warning-notice"
    >
      {shown.map((warning) => (
        <div key={JSON.stringify(warning)}>
          {warning.label !== undefined && kid === undefined && (
            <>
              <TextLink href={placeOf(warning)} fw={600}>
                {withVisibleControls(warning.label)}
              </TextLink>
              :{' '}
            </>
          )}
          {textOf(warning)}
        </div>
      ))}
    </Notice>
  )
}
