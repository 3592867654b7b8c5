import { feature } from '../../kernel/feature.ts'

export const tokenChecks = feature({
  name: 'token-checks',
  http: () => import('./http.ts'),
})
