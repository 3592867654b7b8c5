import { PubringError } from '../../errors.ts'
import { change } from '../../kernel/changes.ts'
import type { ClaimValue } from '../access-rules/contract.ts'
import type { WorkloadRule } from '../access-rules/stored.ts'
import { type ApiKeyIssue, issueOptions } from '../api-keys/changes.ts'

export interface TokenExchange extends ApiKeyIssue {
  /** The rule that accepted the token; the change is refused if it has changed since. */
  rule: WorkloadRule
  matched: [claim: string, value: ClaimValue][]
  /** The digest of a token that is accepted once. */
  once?: string
}

export const exchangeChanges = {
  exchangeToken: change<TokenExchange>('token.exchange', issueOptions),
}

/** The one refusal of all tokens, so that a caller learns nothing from it. */
export function refusedToken(): PubringError {
  return new PubringError(
    'invalid_request',
    'The token was not exchanged. An administrator can see why: POST /v1/access-rules/{id}/checks.',
  )
}
