import { feature } from '../../kernel/feature.ts'
import { blockedFingerprints, blockedFingerprintTable } from './exposure/stored.ts'
import * as stored from './stored.ts'

export const keys = feature({
  name: 'keys',
  tables: [stored.keyTable, stored.publishedKidTable, blockedFingerprintTable],
  subjects: [stored.keys, stored.publishedKids, blockedFingerprints],
  http: () => import('./http.ts'),
})
