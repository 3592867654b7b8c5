import { feature } from '../../kernel/feature.ts'

export const apiKeys = feature({
  name: 'api-keys',
  http: () => import('./http.ts'),
})
