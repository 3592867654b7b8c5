import { change } from '../../kernel/changes.ts'
import type { TokenUse } from '../../kernel/storage/used-tokens.ts'
import type { ClaimValue } from '../access-rules/condition-contract.ts'
import type { WorkloadRule } from '../access-rules/stored.ts'
import { type ApiKeyIssue, issueOptions } from '../api-keys/changes.ts'

export interface TokenExchange extends ApiKeyIssue {
  /** As it was when it accepted the token; the change is refused if it no longer is. */
  rule: WorkloadRule
  matched: [claim: string, value: ClaimValue][]
  once?: TokenUse
}

export const exchangeChanges = {
  exchangeToken: change<TokenExchange>('token.exchange', issueOptions),
}
