import type { AccessRuleCheck } from '../../contract/access-rules/rules.ts'
import type { Context } from '../context.ts'
import type { IssuerKeys } from '../token-exchange/issuer-keys.ts'
import { checkSignature, examineSubjectToken } from '../token-exchange/subject-tokens.ts'
import { decodeToken } from '../tokens/decode.ts'
import { failed } from '../tokens/findings.ts'
import { findAccessRule } from './rules.ts'

/** Reports whether the rule would exchange the token now. Nothing of it is stored. */
export async function checkSubjectToken(
  { store, clock }: Context,
  keys: IssuerKeys,
  id: string,
  text: string,
): Promise<AccessRuleCheck> {
  const rule = findAccessRule(await store.accessRules(), id)
  const token = decodeToken(text)
  if ('fault' in token) {
    return { accepted: false, steps: [{ step: 'well_formed', ...failed(token.fault) }] }
  }
  const { header, claims } = token
  const verify = () => checkSignature(token, rule, keys)
  const report = await examineSubjectToken(token, rule, { verify, nowMs: clock.now() })
  const { steps, grant } = report
  if (grant === undefined) return { accepted: false, steps, header, claims }
  return { accepted: true, steps, header, claims, expireTime: grant.expireTime }
}
