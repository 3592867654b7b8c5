import { feature } from '../../kernel/feature.ts'
import { auditChanges } from './changes.ts'

export const audit = feature({
  name: 'audit',
  changes: auditChanges,
  apply: () => import('./apply.ts'),
})
