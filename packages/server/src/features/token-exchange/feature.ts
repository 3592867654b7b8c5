import { feature } from '../../kernel/feature.ts'
import { on } from '../../kernel/hooks.ts'
import { keyChanged } from '../keys/changes.ts'
import { exchangeChanges } from './changes.ts'

export const tokenExchange = feature({
  name: 'token-exchange',
  eventTypes: ['token.exchanged'],
  changes: exchangeChanges,
  apply: () => import('./apply.ts'),
  hooks: [
    on(keyChanged, async (...all) => (await import('./apply.ts')).deleteSuccessorKeys(...all)),
  ],
  http: () => import('./http.ts'),
})
