import { invalidField } from '../../errors.ts'
import { requirePlain } from '../../kernel/values/labels.ts'
import { present } from '../../runtime/present.ts'
import { issuerOf } from '../keys/jwks.ts'
import { pathOf, prefixOf, requireConditions } from './conditions.ts'
import type { ClaimValue, Conditions, IssuerJwks, KeySource } from './contract.ts'
import { sharedIssuers } from './presets.ts'
import type { IssuerKeySource, WorkloadRule } from './stored.ts'

/**
 * Throws `invalid_request` unless the conditions select workloads of one owner: an issuer that many
 * share signs tokens for everyone, so an immutable id of the owner or the repository must be among
 * the conditions. Of every other issuer, something must be.
 */
export function requireSomeWorkloads(issuer: string, conditions: Conditions): void {
  requireConditions(conditions)
  const shared = sharedIssuers.find(({ pattern }) => pattern.test(issuer))
  if (shared === undefined) {
    const isNarrow = ([name, value]: [string, ClaimValue]) =>
      !['iss', 'aud'].includes(pathOf(name)[0] ?? '') && prefixOf(value) !== ''
    if (Object.entries(conditions).some(isNarrow)) return
    throw tooWide(
      'conditions accept every token of the issuer: all have its iss, and the aud of the rule. Add a condition on sub, or on another claim that only your workload has.',
    )
  }
  const isPinned = (name: string) => {
    const value = conditions[name]
    return value !== undefined && prefixOf(value) === undefined
  }
  if (shared.pins.some(isPinned)) return
  throw tooWide(
    `Everyone who uses ${shared.name} gets tokens of this issuer, and names can change hands. Add a condition on ${shared.pins.join(' or ')} with the id itself, which never changes, not a pattern.`,
  )
}

/**
 * Throws `invalid_request` unless a project's own keys may vouch for their successors by the rule. The
 * `publicUrl` of a rule that exists is its audience.
 */
export function requireRotation(
  rule: Pick<WorkloadRule, 'issuer' | 'audience' | 'role' | 'singleUse' | 'projectId'>,
  publicUrl = rule.audience,
): void {
  const { issuer, audience, role, singleUse, projectId } = rule
  if (projectId === undefined) {
    const detail = 'Keys vouch for keys of their own project: name the project.'
    throw invalidField('/project', 'required', detail)
  }
  const own = issuerOf(publicUrl, projectId)
  if (issuer !== own || audience !== publicUrl) {
    const detail = `issuer must be ${own} and audience must be ${publicUrl}: the project, and this service.`
    throw invalidField('/issuer', 'contradictory', detail)
  }
  if (role !== 'registrar') {
    throw invalidField('/role', 'too_wide', 'role must be registrar: a key vouches for one key.')
  }
  if (!singleUse) {
    throw invalidField('/singleUse', 'contradictory', 'singleUse must be true: a key vouches once.')
  }
}

function tooWide(detail: string) {
  return invalidField('/conditions', 'too_wide', detail)
}

interface SubmittedSource {
  issuer?: string
  keySource?: KeySource
  jwksUri?: string
  jwks?: IssuerJwks
}

/** Where the keys come from: the member that is present says so. Throws `invalid_request`. */
export function requireSource(submitted: SubmittedSource): IssuerKeySource {
  const { issuer, keySource: named, jwksUri, jwks } = submitted
  if (issuer === undefined) {
    throw invalidField('/issuer', 'required', 'issuer is required: the iss of the tokens.')
  }
  requirePlain(issuer, '/issuer')
  const unmarked = named === 'project' ? named : 'discovery'
  const keySource = jwksUri !== undefined ? 'jwksUri' : jwks !== undefined ? 'jwks' : unmarked
  const hasTwo = jwksUri !== undefined && jwks !== undefined
  if ((named ?? keySource) !== keySource || hasTwo) {
    throw invalidField(
      '/keySource',
      'contradictory',
      'The keys come from one place: send jwksUri, or jwks, or neither for discovery.',
    )
  }
  requireLikelyIssuer(issuer)
  if (keySource === 'discovery') requireHttps('/issuer', issuer)
  if (jwksUri !== undefined) requireHttps('/jwksUri', jwksUri)
  return { issuer, keySource, ...present({ jwksUri, jwks }) }
}

/** Throws `invalid_request` for an issuer that no token has. */
function requireLikelyIssuer(issuer: string): void {
  const [, scheme = '', host = ''] = /^([A-Za-z]+):\/\/([^/?#]*)/.exec(issuer) ?? []
  const [, parent] = /^(.*)\/\.well-known(?:\/.*)?$/.exec(issuer) ?? []
  const detail =
    parent !== undefined
      ? `issuer is the iss of the tokens, not the address of a document. Is it ${parent}?`
      : /\s/.test(issuer)
        ? 'issuer has white space, which no iss has. Remove it.'
        : scheme + host !== (scheme + host).toLowerCase()
          ? 'issuer has capital letters in its host, which no iss has. Write them in lower case.'
          : undefined
  if (detail !== undefined) throw invalidField('/issuer', 'address_invalid', detail)
}

function requireHttps(pointer: string, text: string): void {
  const { protocol, username, search, hash } = URL.parse(text) ?? {}
  const isPlainAddress = protocol === 'https:' && !username && !hash
  if (isPlainAddress && !(pointer === '/issuer' && search)) return
  const detail = `${pointer.slice(1)} must be an https address without a user name, from which the keys are fetched.`
  throw invalidField(pointer, 'address_invalid', detail)
}
