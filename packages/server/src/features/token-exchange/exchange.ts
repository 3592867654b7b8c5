import { invalidField, PubringError } from '../../errors.ts'
import { workloadOf } from '../../kernel/access/callers.ts'
import type { RequestContext } from '../../kernel/access/principal.ts'
import { newApiKeySecret } from '../../kernel/access/secrets.ts'
import { notFound } from '../../kernel/faults.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import { systemLedgerId } from '../../kernel/ledger/chain.ts'
import { readTimeOfUse, tokenDigest } from '../../kernel/ledger/token-uses.ts'
import { parseId } from '../../kernel/values/ids.ts'
import { isoTime } from '../../kernel/values/times.ts'
import { present } from '../../runtime/present.ts'
import { type DecodedToken, decodeToken } from '../../tokens/decode.ts'
import { type Finding, failed, passed } from '../../tokens/findings.ts'
import { verifies } from '../../tokens/signatures.ts'
import { type IssuerKeys, keySourceId } from '../access-rules/issuer-keys.ts'
import { findAccessRule } from '../access-rules/operations.ts'
import { isForWorkloads, readWorkloadRules } from '../access-rules/reads.ts'
import { isApplied, type WorkloadRule } from '../access-rules/stored.ts'
import { checkSignature, examineSubjectToken, type Grant } from '../access-rules/subject-tokens.ts'
import { apiKeyRecord } from '../api-keys/operations.ts'
import type { KeyRecord } from '../keys/stored.ts'
import { exchangeChanges, refusedToken } from './changes.ts'
import {
  apiKeyTokenType,
  subjectTokenTypes,
  type TokenExchangeResponse,
  tokenExchangeGrant,
} from './contract.ts'

type OAuthError = 'invalid_request' | 'unsupported_grant_type' | 'invalid_scope' | 'invalid_target'

/** A fault of the form, which tells nothing about a token or a rule. */
export class FormFault extends PubringError {
  readonly error: OAuthError

  constructor(error: OAuthError, detail: string) {
    super('invalid_request', detail)
    this.error = error
  }
}

/** A token, and the one rule that accepts it. */
interface AcceptedToken {
  rule: WorkloadRule
  grant: Grant
}

/** Long because its functions share what is in memory. */
export function createTokenExchange(kernel: Kernel, keys: IssuerKeys) {
  const { store, clock } = kernel
  let cached: { head: string | undefined; rules: WorkloadRule[] } | undefined

  /** Every change of a rule is an event of the system ledger. Its head is read before the rules. */
  async function readRules(): Promise<WorkloadRule[]> {
    const head = (await store.heads([systemLedgerId])).get(systemLedgerId)?.hash
    if (cached === undefined || cached.head !== head) {
      cached = { head, rules: await readWorkloadRules(store.reader) }
    }
    return cached.rules
  }

  return {
    /** Throws `refusedToken()` unless exactly one rule, or the one that is named, accepts the token. */
    async accept(parameters: Readonly<Record<string, string>>): Promise<AcceptedToken> {
      const { text, ruleId } = readParameters(parameters)
      const token = decodeToken(text)
      if ('fault' in token) throw refusedToken()
      const candidates = (await readRules()).filter(
        (rule) =>
          isApplied(rule) && rule.issuer === token.claims.iss && (ruleId ?? rule.id) === rule.id,
      )
      // Rules with the same source share a verification: there may be hundreds for one issuer.
      const verified = new Map<string, Promise<Finding>>()
      const verify = (rule: WorkloadRule) => {
        const source = keySourceId(rule)
        const finding = verified.get(source) ?? checkSignature(token, rule, keys)
        verified.set(source, finding)
        return finding
      }
      const accepted: AcceptedToken[] = []
      for (const rule of candidates) {
        const { grant } = await examineSubjectToken(token, rule, {
          verify,
          timeOfUse: (digest) => readTimeOfUse(store.reader, digest),
          nowMs: clock.now(),
          isUnexplained: true,
        })
        if (grant !== undefined) accepted.push({ rule, grant })
      }
      const [only, ...others] = accepted
      if (only === undefined || others.length > 0) throw refusedToken()
      return only
    },

    /** Issues the API key. Throws `refusedToken()` if the rule changed, or the token was used, meanwhile. */
    async issue({ rule, grant }: AcceptedToken, requestId: string): Promise<TokenExchangeResponse> {
      const secret = newApiKeySecret()
      const nowMs = clock.now()
      const { id: ruleId, name, issuer, role, projectId } = rule
      const { subject, matched, expireTime, jti, successor } = grant
      const exchanged = { ruleId, issuer, subject, ...present({ successor }) }
      const members = { name, role, expireTime, exchanged, ...present({ projectId }) }
      const apiKey = apiKeyRecord(secret, isoTime(nowMs), members)
      await store.commit(exchangeChanges.exchangeToken, {
        origin: { actor: workloadOf(apiKey, exchanged), requestId, time: apiKey.createTime },
        apiKey,
        rule,
        matched,
        ...present({ once: jti && tokenDigest(issuer, jti) }),
      })
      return {
        access_token: secret,
        issued_token_type: apiKeyTokenType,
        token_type: 'N_A',
        expires_in: Math.max(0, Math.floor((Date.parse(expireTime) - nowMs) / 1_000)),
      }
    },
  }
}

/** Parameters that would narrow or widen the result in ways that are not supported. */
const unsupported = {
  actor_token: 'invalid_request',
  actor_token_type: 'invalid_request',
  audience: 'invalid_target',
  resource: 'invalid_target',
  scope: 'invalid_scope',
} as const

/**
 * Reads the parameters of RFC 8693 section 2.1. As OAuth requires (RFC 6749 section 3.2), empty ones
 * count as absent and unknown ones are ignored. Throws a `FormFault`.
 */
function readParameters(parameters: Readonly<Record<string, string>>) {
  const {
    grant_type: grant = '',
    subject_token: text = '',
    subject_token_type: type = '',
    requested_token_type: requested = '',
    rule = '',
  } = parameters
  if (grant !== tokenExchangeGrant) {
    const error = grant === '' ? 'invalid_request' : 'unsupported_grant_type'
    throw new FormFault(error, `grant_type must be ${tokenExchangeGrant}.`)
  }
  const wrong = Object.entries(unsupported).find(([name]) => parameters[name])
  if (wrong !== undefined) {
    const [name, error] = wrong
    throw new FormFault(error, `${name} is not supported: the access rule decides. Leave it out.`)
  }
  if (text === '') throw new FormFault('invalid_request', 'subject_token is missing.')
  if (!subjectTokenTypes.some((name) => name === type)) {
    const detail = `subject_token_type must be ${subjectTokenTypes.join(' or ')}.`
    throw new FormFault('invalid_request', detail)
  }
  if (requested !== '' && requested !== apiKeyTokenType) {
    const detail = `requested_token_type must be ${apiKeyTokenType}, or left out.`
    throw new FormFault('invalid_request', detail)
  }
  const ruleId = parseId(rule)
  if (rule !== '' && ruleId === undefined) {
    throw new FormFault('invalid_request', 'rule must be the id of an access rule.')
  }
  return { text, ruleId }
}

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
  const verify = () => checkPossession(token, key)
  const { steps, grant } = await examineSubjectToken(token, rule, { verify, nowMs: clock.now() })
  if (grant === undefined) throw invalidProof(steps.at(-1)?.detail ?? '')
  if (grant.successor === key.thumbprint) return
  throw invalidProof(`Its cnf.jkt is not the thumbprint of the new key, ${key.thumbprint}.`)
}

/** Verifies the proof by the algorithm that the key is registered for. */
async function checkPossession(token: DecodedToken, key: KeyRecord): Promise<Finding> {
  return (await verifies(token, key))
    ? passed('The new key verifies the signature.')
    : failed(`The new key does not verify it by ${key.jwsAlgorithm}, its algorithm here.`)
}

function invalidProof(detail: string): PubringError {
  return invalidField('/proof', 'proof_invalid', `The new key does not prove itself. ${detail}`)
}
