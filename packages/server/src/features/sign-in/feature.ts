import { feature } from '../../kernel/feature.ts'
import * as stored from './stored.ts'

export const signIn = feature({
  name: 'sign-in',
  tables: [stored.personTable, stored.sessionTable],
  subjects: [stored.sessions],
  eventTypes: ['person.deleted'],
  http: () => import('./http.ts'),
})
