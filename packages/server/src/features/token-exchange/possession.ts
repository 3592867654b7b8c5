import { createPublicKey } from 'node:crypto'
import { invalidField, type PubringError } from '../../errors.ts'
import type { RequestContext } from '../../kernel/access/principal.ts'
import { notFound } from '../../kernel/faults.ts'
import { decodeToken } from '../../tokens/decode.ts'
import { type Finding, failed, passed } from '../../tokens/findings.ts'
import { isSignedBy } from '../../tokens/signatures.ts'
import { findAccessRule } from '../access-rules/operations.ts'
import { isForWorkloads } from '../access-rules/reads.ts'
import { examineSubjectToken } from '../access-rules/subject-tokens.ts'
import type { KeyRecord } from '../keys/stored.ts'

/**
 * Requires of a caller that a key vouched for, and of no other, that the new key proves itself: by a
 * rotation token of its own that names it, for the rule of the exchange. Throws `invalid_request`.
 */
export async function requireProof(
  { store, clock, principal: { voucher } }: RequestContext,
  key: KeyRecord,
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
  const rule = await findAccessRule(store.reader, voucher.ruleId)
  if (!isForWorkloads(rule)) throw notFound('access_rule_not_found')
  const verify = () => checkPossession(token.text, key)
  const { steps, grant } = await examineSubjectToken(token, rule, { verify, nowMs: clock.now() })
  if (grant === undefined) throw invalidProof(steps.at(-1)?.detail ?? '')
  if (grant.successor === key.thumbprint) return
  throw invalidProof(`Its cnf.jkt is not the thumbprint of the new key, ${key.thumbprint}.`)
}

/** Verifies the proof by the algorithm that the key is registered for. */
async function checkPossession(
  text: string,
  { publicKeyPem, jwsAlgorithm }: KeyRecord,
): Promise<Finding> {
  return (await isSignedBy(text, createPublicKey(publicKeyPem), jwsAlgorithm))
    ? passed('The new key verifies the signature.')
    : failed(`The new key does not verify it by ${jwsAlgorithm}, its algorithm here.`)
}

function invalidProof(detail: string): PubringError {
  return invalidField('/proof', 'proof_invalid', `The new key does not prove itself. ${detail}`)
}
