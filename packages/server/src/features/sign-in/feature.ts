import { peopleSince } from '../../kernel/access/seen-people.ts'
import { feature } from '../../kernel/feature.ts'
import { on } from '../../kernel/hooks.ts'
import { apiKeyDeleted } from '../api-keys/changes.ts'
import { sessionCredential } from './caller.ts'
import { signInChanges } from './changes.ts'
import { peopleInEvents, readPeopleSince } from './reads.ts'
import * as stored from './stored.ts'

export const signIn = feature({
  name: 'sign-in',
  tables: [stored.personTable, stored.sessionTable],
  subjects: [stored.people, stored.sessions],
  changes: signInChanges,
  apply: () => import('./apply.ts'),
  hooks: [
    on(peopleSince, readPeopleSince),
    on(apiKeyDeleted, async (...all) => (await import('./apply.ts')).endSessionsOfApiKey(...all)),
  ],
  people: peopleInEvents,
  credential: sessionCredential,
  http: () => import('./http.ts'),
})
