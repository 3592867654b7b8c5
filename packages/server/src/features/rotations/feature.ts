import { feature } from '../../kernel/feature.ts'
import { on } from '../../kernel/hooks.ts'
import { keyEnded } from '../keys/changes.ts'
import { rotationChanges } from './changes.ts'
import * as stored from './stored.ts'

export const rotations = feature({
  name: 'rotations',
  tables: [stored.rotationTable],
  subjects: [stored.rotations],
  changes: rotationChanges,
  apply: () => import('./apply.ts'),
  hooks: [on(keyEnded, async (...all) => (await import('./apply.ts')).endRotations(...all))],
  http: () => import('./http.ts'),
})
