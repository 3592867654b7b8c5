import { feature } from '../../kernel/feature.ts'
import * as stored from './stored.ts'

export const audit = feature({
  name: 'audit',
  tables: [stored.keyAuditTable],
})
