import { feature } from './feature.ts'
import { kernelChanges } from './kernel-changes.ts'

/** The kernel registers its own changes as a feature does. */
export const kernel = feature({
  name: 'kernel',
  changes: kernelChanges,
  apply: () => import('./apply.ts'),
})
