import { permanentAdmins } from '../../kernel/access/remaining.ts'
import { feature } from '../../kernel/feature.ts'
import { on } from '../../kernel/hooks.ts'
import { projectDeleted } from '../projects/changes.ts'
import { accessRuleChanges } from './changes.ts'
import * as stored from './stored.ts'

export const accessRules = feature({
  name: 'access-rules',
  tables: [stored.accessRuleTable],
  subjects: [stored.accessRules],
  changes: accessRuleChanges,
  apply: () => import('./apply.ts'),
  hooks: [
    on(projectDeleted, async (...all) =>
      (await import('./apply.ts')).deleteBoundAccessRules(...all),
    ),
    on(permanentAdmins, async (...all) => (await import('./apply.ts')).hasPermanentAdmin(...all)),
  ],
  http: () => import('./http.ts'),
})
