import { feature } from '../../kernel/feature.ts'
import * as stored from './stored.ts'

export const tokenExchange = feature({
  name: 'token-exchange',
  tables: [stored.usedTokenTable],
  eventTypes: ['token.exchanged'],
  http: () => import('./http.ts'),
})
