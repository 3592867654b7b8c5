import { feature } from '../../kernel/feature.ts'
import { auditChanges } from './changes.ts'
import * as stored from './stored.ts'

export const audit = feature({
  name: 'audit',
  tables: [stored.keyAuditTable],
  changes: auditChanges,
  apply: () => import('./apply.ts'),
})
