import { projects, projectTable } from './access/stored-projects.ts'
import { feature } from './feature.ts'
import { kernelChanges } from './kernel-changes.ts'
import { eventTable, ledgerTable } from './ledger/stored.ts'

/** The kernel registers what is its own as a feature does. The events of a project come first. */
export const kernel = feature({
  name: 'kernel',
  tables: [projectTable, ledgerTable, eventTable],
  subjects: [projects],
  eventTypes: ['ledger.accepted', 'ledger.opened', 'token.used'],
  changes: kernelChanges,
  apply: () => import('./apply.ts'),
})
