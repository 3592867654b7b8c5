import { feature } from '../../kernel/feature.ts'

export const projects = feature({
  name: 'projects',
  http: () => import('./http.ts'),
})
