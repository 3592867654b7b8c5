import { createPublicKey } from 'node:crypto'
import { compactVerify, errors } from 'jose'
import { invalidField, PubringError } from '../../errors.ts'
import type { Accepted } from '../../intake/types.ts'
import type { Voucher } from '../access/callers.ts'
import type { RequestContext } from '../access/principal.ts'
import { decodeToken } from '../tokens/decode.ts'
import { type Finding, failed, passed } from '../tokens/findings.ts'
import { findTrustPolicy } from './policies.ts'
import { examineSubjectToken } from './subject-tokens.ts'

/**
 * Requires of a caller that a key vouched for, and of no other, that the new key proves itself: by a
 * rotation token of its own that names it, for the policy of the exchange. Throws `invalid_request`.
 */
export async function requireProof(
  { store, clock, principal: { voucher } }: RequestContext,
  accepted: Accepted,
  proof: string | undefined,
): Promise<void> {
  if (voucher === undefined) {
    if (proof === undefined) return
    throw invalidField(
      '/proof',
      'proof_unexpected',
      'proof is only for API keys that were exchanged for a rotation token. Leave it out.',
    )
  }
  if (proof === undefined) {
    throw invalidProof('Sign a rotation token with the new key, and send it as proof.')
  }
  const token = decodeToken(proof)
  if ('fault' in token) throw invalidProof(token.fault)
  const policy = findTrustPolicy(await store.trustPolicies(), voucher.policyId)
  const verify = () => checkPossession(token.text, accepted)
  const { steps, grant } = await examineSubjectToken(token, policy, { verify, nowMs: clock.now() })
  if (grant === undefined) throw invalidProof(steps.at(-1)?.detail ?? '')
  if (grant.successor === accepted.key.thumbprint) return
  throw invalidProof(
    `Its cnf.jkt is not the thumbprint of the new key, ${accepted.key.thumbprint}.`,
  )
}

/** By the algorithm that the key is registered for. */
async function checkPossession(text: string, { key, jwsAlgorithm }: Accepted): Promise<Finding> {
  try {
    await compactVerify(text, createPublicKey(key.publicKeyPem), { algorithms: [jwsAlgorithm] })
    return passed('The new key verifies the signature.')
  } catch (error) {
    if (!(error instanceof errors.JOSEError)) throw error
    return failed(`The new key does not verify it by ${jwsAlgorithm}, its algorithm here.`)
  }
}

function invalidProof(detail: string): PubringError {
  return invalidField('/proof', 'proof_invalid', `The new key does not prove itself. ${detail}`)
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
