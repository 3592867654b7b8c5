import { feature } from '../../kernel/feature.ts'

export const rotations = feature({
  name: 'rotations',
  http: () => import('./http.ts'),
})
