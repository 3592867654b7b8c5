import { feature } from '../../kernel/feature.ts'

export const tokenExchange = feature({
  name: 'token-exchange',
  http: () => import('./http.ts'),
})
