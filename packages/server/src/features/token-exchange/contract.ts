import type { Static } from 'typebox'
import { component, exampleToken, optionalText, Type, text } from '../../kernel/contract.ts'

export const tokenExchangeGrant = 'urn:ietf:params:oauth:grant-type:token-exchange'

/** The types that a subject token may have; both mean a JWT. */
export const subjectTokenTypes = [
  'urn:ietf:params:oauth:token-type:jwt',
  'urn:ietf:params:oauth:token-type:id_token',
] as const

/** The type of the issued API key, which no registered type describes. */
export const apiKeyTokenType = 'urn:pubring:token-type:api-key'

export const TokenExchangeRequest = component('TokenExchangeRequest', 'RFC 8693 section 2.1.', {
  grant_type: Type.Enum([tokenExchangeGrant]),
  subject_token: text(
    'The token of the workload, a JWT. It is neither stored nor logged.',
    exampleToken,
  ),
  subject_token_type: Type.Enum([...subjectTokenTypes]),
  rule: optionalText(
    'Id of the access rule to apply. Without it, exactly one rule must accept the token.',
    '019ac8f2-6c1e-7d53-a1b0-5f0e4c9d2b71',
  ),
  requested_token_type: Type.Optional(Type.Enum([apiKeyTokenType])),
})

export const TokenExchangeResponse = component('TokenExchangeResponse', 'RFC 8693 section 2.2.1.', {
  access_token: text('An API key for the `X-Api-Key` header.', 'pubring_…'),
  issued_token_type: Type.Enum([apiKeyTokenType]),
  token_type: Type.Enum(['N_A'], {
    description: 'It is not for the `Authorization` header (RFC 8693 section 2.2.1).',
  }),
  expires_in: Type.Integer({ description: 'Seconds.', examples: [900] }),
})
export type TokenExchangeResponse = Static<typeof TokenExchangeResponse>

export const TokenExchangeError = component(
  'TokenExchangeError',
  'RFC 6749 section 5.2. Faults of the form are named. Every refusal of a token is the same `invalid_request`, so that nothing can be learned from it; `POST /v1/access-rules/{id}/checks` tells an admin why.',
  {
    error: Type.Enum([
      'invalid_request',
      'unsupported_grant_type',
      'invalid_scope',
      'invalid_target',
      'temporarily_unavailable',
      'server_error',
    ]),
    error_description: Type.String(),
  },
)
export type TokenExchangeError = Static<typeof TokenExchangeError>
