import { feature } from '../../kernel/feature.ts'

export const publishing = feature({
  name: 'publishing',
  http: () => import('./http.ts'),
})
