import { feature } from '../../kernel/feature.ts'
import { on } from '../../kernel/hooks.ts'
import { keyEnded } from '../keys/changes.ts'
import { auditChanges } from './changes.ts'
import { passedKeyTable } from './stored.ts'

export const audit = feature({
  name: 'audit',
  tables: [passedKeyTable],
  changes: auditChanges,
  apply: () => import('./apply.ts'),
  hooks: [
    on(keyEnded, async (tx, key, step) => (await import('./apply.ts')).deletePass(tx, key, step)),
  ],
})
