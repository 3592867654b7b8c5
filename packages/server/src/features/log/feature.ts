import { feature } from '../../kernel/feature.ts'
import * as stored from './stored.ts'

export const log = feature({
  name: 'log',
  tables: [stored.logTreeTable, stored.logEntryTable, stored.logTileTable, stored.logLedgerTable],
  eventTypes: ['log.started'],
  http: () => import('./http.ts'),
})
