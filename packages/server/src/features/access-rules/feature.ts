import { feature } from '../../kernel/feature.ts'

export const accessRules = feature({
  name: 'access-rules',
  http: () => import('./http.ts'),
})
