import { projects, projectTable } from './access/stored-projects.ts'
import { feature } from './feature.ts'
import { kernelChanges } from './kernel-changes.ts'
import { eventTable, ledgerTable } from './ledger/stored.ts'
import { usedTokenTable } from './storage/used-tokens.ts'

/** The kernel registers what is its own as a feature does. The events of a project come first. */
export const kernel = feature({
  name: 'kernel',
  tables: [projectTable, ledgerTable, eventTable, usedTokenTable],
  subjects: [projects],
  eventTypes: ['ledger.accepted'],
  changes: kernelChanges,
  apply: () => import('./apply.ts'),
})
