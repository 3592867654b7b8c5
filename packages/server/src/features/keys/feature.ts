import { feature } from '../../kernel/feature.ts'
import { on } from '../../kernel/hooks.ts'
import { projectAccepted } from '../../kernel/kernel-changes.ts'
import { keyChanges } from './changes.ts'
import { publishedKeySets, publishedKeySetTable } from './published/stored.ts'
import * as stored from './stored.ts'

export const keys = feature({
  name: 'keys',
  tables: [
    stored.keyTable,
    stored.publishedKidTable,
    stored.blockedFingerprintTable,
    publishedKeySetTable,
  ],
  subjects: [stored.keys, stored.publishedKids, stored.blockedFingerprints, publishedKeySets],
  changes: keyChanges,
  hooks: [on(projectAccepted, async (...all) => (await import('./apply.ts')).acceptKeySet(...all))],
  apply: () => import('./apply.ts'),
  http: () => import('./http.ts'),
})
