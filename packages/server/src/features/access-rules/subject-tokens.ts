import { PubringError } from '../../errors.ts'
import { tokenDigest } from '../../kernel/ledger/token-uses.ts'
import { requireNoSecrets, requirePlain } from '../../kernel/values/labels.ts'
import { isoTime } from '../../kernel/values/times.ts'
import { isObject } from '../../runtime/json.ts'
import { present } from '../../runtime/present.ts'
import {
  checkAudience,
  checkExpiry,
  checkIssuer,
  checkNotBefore,
  leewayMs,
  maxProofMs,
} from '../../tokens/claims.ts'
import { checkForm, type DecodedToken } from '../../tokens/decode.ts'
import {
  type Finding,
  failed,
  passed,
  quote,
  runSteps,
  type StepReport,
  skipped,
} from '../../tokens/findings.ts'
import { isSignedBy } from '../../tokens/signatures.ts'
import { rotationType } from '../keys/kids.ts'
import { explainUnmet, matchClaims } from './conditions.ts'
import type { AccessRuleCheckStep, ClaimValue } from './contract.ts'
import type { IssuerKeys } from './issuer-keys.ts'
import type { AccessRuleRecord, IssuerKeySource, WorkloadRule } from './stored.ts'

/** The longest that a token may be valid that is accepted once. */
const maxSingleUseMs = 24 * 3_600_000

/** The grant that a rule makes to the bearer of a token. */
export interface Grant {
  subject: string
  matched: [claim: string, value: ClaimValue][]
  /** ISO 8601: the end of the token, or of the rule's `maxLifetime` from now. */
  expireTime: string
  /** The id of the token, if the rule accepts each token once. */
  jti?: string
  /** Set for a rotation token: the RFC 7638 thumbprint of the key that its signer vouches for. */
  successor?: string
}

interface SubjectReport extends StepReport<AccessRuleCheckStep> {
  /** Set if no step failed. */
  grant?: Grant
}

interface Environment {
  /** `checkSignature` of the token. */
  verify(rule: WorkloadRule): Promise<Finding>
  /**
   * When the token with this digest was used, as ISO 8601; the transaction of an exchange decides. Absent for
   * a proof, which does not use the token up.
   */
  timeOfUse?(digest: string): Promise<string | undefined>
  nowMs: number
  /** Nobody reads why a token is refused, so unmet conditions are not explained. */
  isUnexplained?: true
}

/**
 * Whether the rule accepts the token, step by step (RFC 8725, RFC 7519 section 7.2). Stricter than a
 * token check: what some verifiers would reject is rejected here.
 */
export async function examineSubjectToken(
  token: DecodedToken,
  rule: WorkloadRule,
  environment: Environment,
): Promise<SubjectReport> {
  const { verify, nowMs, isUnexplained = false } = environment
  const { claims } = token
  const isRotation = rule.keySource === 'project'
  const grant: Partial<Grant> = {}
  const report = await runSteps<AccessRuleCheckStep>([
    ['well_formed', () => checkForm(token)],
    ['iss', () => checkIssuer(claims, { own: rule.issuer, requested: rule.issuer })],
    ['rule_active', () => checkRule(rule)],
    ['type', () => checkType(token.header.typ, isRotation)],
    ['signature', () => verify(rule)],
    ['exp', () => checkEnd(claims, nowMs, isRotation)],
    ['nbf', () => checkStart(claims, nowMs)],
    ['aud', () => checkAudience(claims, rule.audience)],
    isRotation
      ? ['cnf', () => checkConfirmation(token, grant)]
      : ['sub', () => checkSubject(claims, grant)],
    ['conditions', () => checkConditions(claims, rule, grant, isUnexplained)],
    ['jti', () => checkTokenId(claims, rule, environment, grant)],
  ])
  if (report.failed !== undefined) return report
  const end = Math.min(Number(claims.exp) * 1_000, nowMs + rule.maxLifetime * 1_000)
  const { subject = '', matched = [] } = grant
  return { ...report, grant: { ...grant, subject, matched, expireTime: isoTime(end) } }
}

export function checkRule({ enabled, contradicted }: AccessRuleRecord): Finding {
  if (contradicted) {
    return failed('The stored rule contradicts the ledger, so it is not applied. Replace it.')
  }
  return enabled ? passed('The rule is active.') : failed('The rule is deactivated.')
}

/** RFC 8725 section 3.11. Tokens made for other protocols, such as logout tokens, have other types. */
const acceptedTypes = ['jwt', 'jose', 'at+jwt']

function checkType(typ: unknown, isRotation: boolean): Finding {
  if (isRotation) {
    if (typ === rotationType) return passed('The typ is that of a rotation token.')
    return failed(`The typ in the header is not ${rotationType}.`)
  }
  if (typ === undefined) return passed('The header has no typ.')
  const name = typeof typ === 'string' ? typ.toLowerCase().replace(/^application\//, '') : ''
  if (acceptedTypes.includes(name)) return passed('The typ is one of a token for this use.')
  return failed('The typ in the header is not that of an ID token or access token (JWT, at+jwt).')
}

/**
 * Whether a key of the issuer signed the token; fails, as `isUnreachable`, if its keys cannot be read.
 * `isDirect`: the issuer itself sent it, so that its keys are fetched again if they do not verify it, and a
 * lone key needs no kid; `shown` is for the person.
 */
export async function checkSignature(
  token: DecodedToken,
  source: IssuerKeySource,
  keys: IssuerKeys,
  { isDirect = false } = {},
): Promise<Finding & { shown?: string; isUnreachable?: true }> {
  const { kid = '', alg } = token.header
  if (typeof kid !== 'string' || (kid === '' && !isDirect)) {
    return failed('The header has no kid.')
  }
  if (typeof alg !== 'string') return failed('The header has no alg.')
  if (/^HS\d/.test(alg)) {
    return failed(
      `The header says ${quote(alg)}, which is made with a shared secret. Have the issuer sign with a private key, such as by RS256 or ES256.`,
    )
  }
  const compare = async () => {
    const found = await keys.find(source, kid, alg)
    if ('fault' in found) return { ...failed(found.fault), ...present(found) }
    return (await isSignedBy(token.text, found.key.publicKey, alg))
      ? passed(`The issuer's key ${quote(found.key.kid)} verifies the signature.`)
      : failed(`The signature does not match the token and the issuer's key ${quote(kid)}.`)
  }
  const finding = await compare()
  if (finding.outcome !== 'failed' || !isDirect) return finding
  if (await keys.refresh(source)) return compare()
  const again =
    'Its keys were read a moment ago. If they have changed since, try again in a few seconds.'
  return { ...finding, shown: `No key of the OpenID provider verifies its token. ${again}` }
}

function checkEnd(claims: DecodedToken['claims'], nowMs: number, isRotation: boolean): Finding {
  if (isRotation && Number(claims.exp) * 1_000 > nowMs + maxProofMs) {
    return failed('exp is more than 5 minutes ahead, too long for a rotation token.')
  }
  if (claims.exp === undefined) {
    return failed(
      'The token has no exp, which is required. Have its issuer set one; of Kubernetes, use a projected service account token instead of one in a Secret.',
    )
  }
  return strict(checkExpiry(claims, nowMs))
}

function checkStart(claims: DecodedToken['claims'], nowMs: number): Finding {
  const lenient = strict(checkNotBefore(claims, nowMs + leewayMs))
  return lenient.outcome === 'failed' ? strict(checkNotBefore(claims, nowMs)) : lenient
}

function strict(finding: Finding): Finding {
  return finding.outcome === 'warned' ? failed(finding.detail) : finding
}

function checkSubject({ sub }: DecodedToken['claims'], grant: Partial<Grant>): Finding {
  if (typeof sub !== 'string') return failed('The token has no sub, or it is not a text.')
  if (!isRecordable(sub)) return failed('sub is empty, too long, or holds what cannot be recorded.')
  grant.subject = sub
  return passed(`The subject is ${quote(sub, 200)}.`)
}

/** RFC 7800 section 3.1 and RFC 9449 section 6.1: the key that the token confirms, by its thumbprint. */
function checkConfirmation({ header, claims }: DecodedToken, grant: Partial<Grant>): Finding {
  const { cnf } = claims
  const jkt = isObject(cnf) ? cnf.jkt : undefined
  if (typeof jkt !== 'string' || !/^[\w-]{43}$/.test(jkt)) {
    return failed('cnf.jkt is not the RFC 7638 thumbprint of a key: SHA-256 in base64url.')
  }
  grant.successor = jkt
  if (typeof header.kid === 'string') grant.subject = header.kid
  return passed(`The successor has the thumbprint ${jkt}.`)
}

/** Subjects and matched claims are written to the ledger. */
function isRecordable(text: string): boolean {
  try {
    requireNoSecrets(text, '/sub')
    requirePlain(text, '/sub')
    return true
  } catch (error) {
    if (error instanceof PubringError) return false
    throw error
  }
}

function checkConditions(
  claims: DecodedToken['claims'],
  { conditions }: WorkloadRule,
  grant: Partial<Grant>,
  isUnexplained: boolean,
): Finding {
  const matched = matchClaims(conditions, claims)
  if (matched === undefined) {
    return failed(isUnexplained ? '' : explainUnmet(conditions, claims).join(' '))
  }
  const unsafe = matched.find(([, value]) => typeof value === 'string' && !isRecordable(value))
  if (unsafe !== undefined) return failed(`${quote(unsafe[0])} holds what cannot be recorded.`)
  grant.matched = matched
  return passed('All conditions are met.')
}

async function checkTokenId(
  { jti, exp }: DecodedToken['claims'],
  { issuer, singleUse }: WorkloadRule,
  { timeOfUse, nowMs }: Environment,
  grant: Partial<Grant>,
): Promise<Finding> {
  if (!singleUse) return skipped('The rule accepts a token several times.')
  if (typeof jti !== 'string' || jti === '') return failed('The token has no jti.')
  if (Number(exp) * 1_000 > nowMs + maxSingleUseMs) {
    return failed('The token is valid for more than a day, too long for one that is accepted once.')
  }
  const time = await timeOfUse?.(tokenDigest(issuer, jti))
  if (time !== undefined) {
    return failed(`Its jti ${quote(jti, 120)} was used at ${time}. The rule accepts each once.`)
  }
  grant.jti = jti
  return passed('Its jti was not used before.')
}
