import { feature } from '../../kernel/feature.ts'
import * as stored from './stored.ts'

export const accessRules = feature({
  name: 'access-rules',
  tables: [stored.accessRuleTable],
  subjects: [stored.accessRules],
  http: () => import('./http.ts'),
})
