import { feature } from '../../kernel/feature.ts'
import * as stored from './stored.ts'

export const apiKeys = feature({
  name: 'api-keys',
  tables: [stored.apiKeyTable],
  subjects: [stored.apiKeys],
  http: () => import('./http.ts'),
})
