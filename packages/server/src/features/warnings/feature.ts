import { feature } from '../../kernel/feature.ts'

export const warnings = feature({
  name: 'warnings',
  http: () => import('./http.ts'),
})
