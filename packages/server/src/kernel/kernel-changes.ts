import type { Credential } from './access/grants.ts'
import { change, type Origin, type Transaction } from './changes.ts'
import { hook } from './hooks.ts'
import { type PublishedDigests, systemLedgerId } from './ledger/chain.ts'

export interface LedgerAcceptance {
  origin: Origin
  ledgerId: string
}

/** A credential of which the last use is recorded. */
export type UsedCredential = Credential & { type: 'api_key' | 'session' }

export interface CredentialUses {
  uses: (UsedCredential & { time: string })[]
}

export const kernelChanges = {
  acceptLedger: change<LedgerAcceptance>('ledger.accept', {
    ledgers: ({ ledgerId }) => [ledgerId, systemLedgerId],
  }),
  touchCredentials: change<CredentialUses>('credential.touch'),
  /** Writes and undoes it, to find out whether the storage accepts changes. */
  tryStorage: change<object>('storage.try'),
}

/** The rows of a project are accepted as they are; returns the digests of what it publishes from then on. */
export const projectAccepted = hook<
  [tx: Transaction, projectId: string, time: string],
  Promise<PublishedDigests | undefined>
>()
