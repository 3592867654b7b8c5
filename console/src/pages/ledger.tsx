import { EmptyState, PageHead } from '../components/states.tsx'
import { Timeline } from '../events/timeline.tsx'
import { useRights } from '../session/context.tsx'

/** The system's ledger: projects and API keys, and who changed them. */
export function LedgerPage() {
  const { mayManage } = useRights()
  if (!mayManage) {
    return (
      <EmptyState title="For admins">
        The system’s ledger is read by an admin of all projects. The keys of a project have their
        history on its page.
      </EmptyState>
    )
  }
  return (
    <>
      <PageHead title="Ledger">
        Every change to projects and API keys, in an order that cannot be edited unseen. The keys of
        a project have their history on the project’s page.
      </PageHead>
      <Timeline />
    </>
  )
}
