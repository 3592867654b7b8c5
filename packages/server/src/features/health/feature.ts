import { feature } from '../../kernel/feature.ts'

export const health = feature({
  name: 'health',
  http: () => import('./http.ts'),
})
