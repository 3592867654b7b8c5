import { change, type Origin } from '../../kernel/changes.ts'
import { exchangeLedgerId } from '../../kernel/ledger/chain.ts'
import type { TokenUse } from '../../kernel/storage/used-tokens.ts'
import type { ClaimValue } from '../access-rules/condition-contract.ts'
import type { WorkloadRule } from '../access-rules/stored.ts'
import type { ApiKeyRecord } from '../api-keys/stored.ts'

export interface TokenExchange {
  origin: Origin
  apiKey: ApiKeyRecord
  /**
   * As it was when it accepted the token; the change is refused if it no longer is. Absent for an
   * API key of a session, which authorizes the change.
   */
  rule?: WorkloadRule
  matched: [claim: string, value: ClaimValue][]
  once?: TokenUse
}

export const exchangeChanges = {
  exchangeToken: change<TokenExchange>('token.exchange', {
    ledgers: ({ apiKey }) => [apiKey.projectId ?? exchangeLedgerId],
    events: ({ apiKey }) => ({ subjects: [apiKey.id] }),
  }),
  /** Deletes remembered tokens that have expired by the time, and exchanged API keys a day later. */
  forgetTokens: change<{ time: string }>('token.forget'),
}
