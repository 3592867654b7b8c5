import type { Credential } from './access/grants.ts'
import { change, type Origin } from './changes.ts'
import { systemLedgerId } from './ledger/chain.ts'

export interface LedgerAcceptance {
  origin: Origin
  ledgerId: string
}

export interface CredentialUses {
  uses: (Credential & { time: string })[]
}

export const kernelChanges = {
  acceptLedger: change<LedgerAcceptance>('ledger.accept', {
    ledgers: ({ ledgerId }) => [ledgerId, systemLedgerId],
  }),
  touchCredentials: change<CredentialUses>('credential.touch'),
  /** Writes and undoes it, to find out whether the storage accepts changes. */
  tryStorage: change<object>('storage.try'),
}
