import { change, type Origin } from '../../kernel/changes.ts'
import type { KeyUseReport, KeyUsesReported } from './contract.ts'

export interface KeyReport extends Required<KeyUseReport> {
  origin: Origin
  projectId: string
  /** Whom the name of the reporter belongs to, if it is new. */
  owner: string
}

export interface ReporterRemoval {
  origin: Origin
  projectId: string
  reporter: string
}

/** A report changes nothing that a ledger accounts for: it has no revision and no event. */
const outsideLedgers = { ledgers: () => [] }

export const keyUseChanges = {
  reportKeyUses: change<KeyReport, KeyUsesReported>('key_use.report', {
    ...outsideLedgers,
    isUnlimited: true,
  }),
  removeReporter: change<ReporterRemoval>('key_use.remove_reporter', outsideLedgers),
}
