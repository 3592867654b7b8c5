import { permanentAdmins } from '../../kernel/access/remaining.ts'
import { feature } from '../../kernel/feature.ts'
import { on } from '../../kernel/hooks.ts'
import { projectDeleted } from '../projects/changes.ts'
import { apiKeyCredential } from './caller.ts'
import { apiKeyChanges } from './changes.ts'
import * as stored from './stored.ts'

export const apiKeys = feature({
  name: 'api-keys',
  tables: [stored.apiKeyTable],
  subjects: [stored.apiKeys],
  changes: apiKeyChanges,
  apply: () => import('./apply.ts'),
  hooks: [
    on(projectDeleted, async (...all) => (await import('./apply.ts')).deleteBoundApiKeys(...all)),
    on(permanentAdmins, async (tx) => (await import('./apply.ts')).hasPermanentAdmin(tx)),
  ],
  credential: apiKeyCredential,
  http: () => import('./http.ts'),
})
