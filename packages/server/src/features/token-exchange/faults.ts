import { PubringError } from '../../errors.ts'

/** The one refusal of all tokens, so that a caller learns nothing from it. */
export function refusedToken(): PubringError {
  return new PubringError(
    'invalid_request',
    'The token was not exchanged. An administrator can see why: POST /v1/access-rules/{id}/checks.',
  )
}
