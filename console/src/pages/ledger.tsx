import { MessagePage, PageHeader } from '../components/states.tsx'
import { History } from '../events/history.tsx'
import { useRights } from '../session/rights.ts'

/** The system ledger: changes to projects and API keys. */
export function LedgerPage() {
  const { mayAudit } = useRights()
  if (!mayAudit) {
    return (
      <MessagePage title="Ledger">
        Only an admin or auditor of all projects can read the system ledger. The history of a
        project has the changes to its keys.
      </MessagePage>
    )
  }
  return (
    <>
      <PageHeader title="Ledger">
        All changes to projects and API keys, in a tamper-evident log. The history of a project has
        the changes to its keys.
      </PageHeader>
      <History />
    </>
  )
}
