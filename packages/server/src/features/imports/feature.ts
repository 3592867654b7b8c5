import { feature } from '../../kernel/feature.ts'

export const imports = feature({
  name: 'imports',
  http: () => import('./http.ts'),
})
