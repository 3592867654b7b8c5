import { feature } from '../../kernel/feature.ts'

export const events = feature({
  name: 'events',
  http: () => import('./http.ts'),
})
