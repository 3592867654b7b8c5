import { feature } from '../../kernel/feature.ts'

export const signIn = feature({
  name: 'sign-in',
  http: () => import('./http.ts'),
})
