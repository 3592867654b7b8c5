import { feature } from '../../kernel/feature.ts'

export const keyHistory = feature({
  name: 'key-history',
  http: () => import('./http.ts'),
})
