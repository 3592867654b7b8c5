import { PubringError } from '../../errors.ts'
import type { Voucher } from '../../kernel/access/callers.ts'

/** The one refusal of all tokens, so that a caller learns nothing from it. */
export function refusedToken(): PubringError {
  return new PubringError(
    'invalid_request',
    'The token was not exchanged. An administrator can see why: POST /v1/access-rules/{id}/checks.',
  )
}

/** Throws `key_not_vouched` unless it is the key that was vouched for, and the first time. */
export function requireSuccessor(
  { successor }: Voucher,
  { thumbprint }: { thumbprint: string },
  isFirst: boolean,
): void {
  if (thumbprint === successor && isFirst) return
  throw new PubringError(
    'key_not_vouched',
    `This API key registers only the key with the thumbprint ${successor}, and once. That of yours is ${thumbprint}.`,
  )
}
