import type { TrustPolicyCheck } from '../../contract/trust/policies.ts'
import type { Context } from '../context.ts'
import { decodeToken } from '../tokens/decode.ts'
import { failed } from '../tokens/findings.ts'
import type { IssuerKeys } from './issuer-keys.ts'
import { findTrustPolicy } from './policies.ts'
import { checkSignature, examineSubjectToken } from './subject-tokens.ts'

/** Reports whether the policy would exchange the token now. Nothing of it is stored. */
export async function checkSubjectToken(
  { store, clock }: Context,
  keys: IssuerKeys,
  id: string,
  text: string,
): Promise<TrustPolicyCheck> {
  const policy = findTrustPolicy(await store.trustPolicies(), id)
  const token = decodeToken(text)
  if ('fault' in token) {
    return { accepted: false, steps: [{ step: 'well_formed', ...failed(token.fault) }] }
  }
  const { header, claims } = token
  const verify = () => checkSignature(token, policy, keys)
  const report = await examineSubjectToken(token, policy, { verify, nowMs: clock.now() })
  const { steps, grant } = report
  if (grant === undefined) return { accepted: false, steps, header, claims }
  return { accepted: true, steps, header, claims, expireTime: grant.expireTime }
}
