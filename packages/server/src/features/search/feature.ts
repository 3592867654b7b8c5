import { feature } from '../../kernel/feature.ts'

export const search = feature({
  name: 'search',
  http: () => import('./http.ts'),
})
