import { change, type Origin } from '../../kernel/changes.ts'
import type { Use } from './stored.ts'

export interface ReporterRemoval {
  origin: Origin
  projectId: string
  reporter: string
}

export interface KeyReport extends ReporterRemoval {
  /** Whom the name of the reporter belongs to, if it is new. */
  owner: string
  /** Seconds between two reports. */
  interval: number
  /** By the id of the key. */
  uses: (Use & { id: string })[]
}

/** A report changes nothing that a ledger accounts for: it has no revision and no event. */
const outsideLedgers = { ledgers: () => [] }

export const keyUseChanges = {
  reportKeyUses: change<KeyReport>('key_use.report', { ...outsideLedgers, isUnlimited: true }),
  removeReporter: change<ReporterRemoval>('key_use.remove_reporter', outsideLedgers),
}
