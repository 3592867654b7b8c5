import { feature } from '../../kernel/feature.ts'

export const keys = feature({
  name: 'keys',
  http: () => import('./http.ts'),
})
