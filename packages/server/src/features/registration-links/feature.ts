import { feature } from '../../kernel/feature.ts'
import { on } from '../../kernel/hooks.ts'
import { projectDeleted } from '../projects/changes.ts'
import { registrationCredential } from './caller.ts'
import { linkChanges } from './changes.ts'
import { readNotes } from './reads.ts'
import * as stored from './stored.ts'

export const registrationLinks = feature({
  name: 'registration-links',
  tables: [stored.linkTable],
  subjects: [stored.links],
  changes: linkChanges,
  apply: () => import('./apply.ts'),
  hooks: [on(projectDeleted, async (...all) => (await import('./apply.ts')).eraseNotes(...all))],
  readNotes,
  credential: registrationCredential,
  http: () => import('./http.ts'),
})
