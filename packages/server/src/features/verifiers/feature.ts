import { feature } from '../../kernel/feature.ts'

export const verifiers = feature({
  name: 'verifiers',
  http: () => import('./http.ts'),
})
