import { feature } from '../../kernel/feature.ts'
import { on } from '../../kernel/hooks.ts'
import { keyEnded } from '../keys/changes.ts'
import { projectDeleted } from '../projects/changes.ts'
import { keyUseChanges } from './changes.ts'
import { keyReporterTable, keyUseTable } from './stored.ts'

export const keyUses = feature({
  name: 'key-uses',
  tables: [keyReporterTable, keyUseTable],
  changes: keyUseChanges,
  apply: () => import('./apply.ts'),
  hooks: [
    on(keyEnded, async (tx, key, step) => (await import('./apply.ts')).forgetKey(tx, key, step)),
    on(projectDeleted, async (...all) => (await import('./apply.ts')).forgetProject(...all)),
  ],
  http: () => import('./http.ts'),
})
