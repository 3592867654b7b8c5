import { feature } from '../../kernel/feature.ts'
import { logChanges } from './changes.ts'
import * as stored from './stored.ts'

export const log = feature({
  name: 'log',
  tables: [
    ...[stored.logTreeTable, stored.logEntryTable, stored.logTileTable],
    ...[stored.logSlotTable, stored.logLedgerTable],
  ],
  eventTypes: ['log.started'],
  changes: logChanges,
  apply: () => import('./apply.ts'),
  verify: async () => (await import('./verification.ts')).verifyLog,
  http: () => import('./http.ts'),
})
