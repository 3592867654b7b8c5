import { feature } from '../../kernel/feature.ts'
import { projectChanges } from './changes.ts'

export const projects = feature({
  name: 'projects',
  changes: projectChanges,
  apply: () => import('./apply.ts'),
  http: () => import('./http.ts'),
})
