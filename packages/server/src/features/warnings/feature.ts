import { feature } from '../../kernel/feature.ts'

export const warnings = feature({
  name: 'warnings',
  census: () => import('./census.ts'),
  http: () => import('./http.ts'),
})
