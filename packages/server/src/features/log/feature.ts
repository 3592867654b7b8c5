import { feature } from '../../kernel/feature.ts'

export const log = feature({
  name: 'log',
  http: () => import('./http.ts'),
})
