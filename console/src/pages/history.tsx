import { PageHeader } from '../components/states.tsx'
import { History } from '../events/history.tsx'

/** The history of all ledgers. */
export function HistoryPage() {
  return (
    <>
      <PageHeader title="History">
        Who changed what, and when: in all projects, and in who has access to them.
      </PageHeader>
      <History />
    </>
  )
}
