import { feature } from '../../kernel/feature.ts'
import { on } from '../../kernel/hooks.ts'
import { projectDeleted } from '../projects/changes.ts'
import { keyUseChanges } from './changes.ts'
import { keyReporterTable } from './stored.ts'

export const keyUses = feature({
  name: 'key-uses',
  tables: [keyReporterTable],
  changes: keyUseChanges,
  apply: () => import('./apply.ts'),
  hooks: [on(projectDeleted, async (...all) => (await import('./apply.ts')).forgetProject(...all))],
  http: () => import('./http.ts'),
})
