import { feature } from '../../kernel/feature.ts'
import { keyChanges } from './changes.ts'
import * as stored from './stored.ts'

export const keys = feature({
  name: 'keys',
  tables: [
    stored.keyTable,
    stored.publishedKidTable,
    stored.keyWeaknessTable,
    stored.blockedFingerprintTable,
  ],
  subjects: [stored.keys, stored.publishedKids, stored.blockedFingerprints],
  changes: keyChanges,
  apply: () => import('./apply.ts'),
  http: () => import('./http.ts'),
})
