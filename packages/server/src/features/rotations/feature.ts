import { feature } from '../../kernel/feature.ts'
import * as stored from './stored.ts'

export const rotations = feature({
  name: 'rotations',
  tables: [stored.rotationTable],
  subjects: [stored.rotations],
  http: () => import('./http.ts'),
})
