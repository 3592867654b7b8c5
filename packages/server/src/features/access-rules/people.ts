import { invalidField } from '../../errors.ts'
import { grantOf } from '../../kernel/access/callers.ts'
import type { Grant } from '../../kernel/access/grants.ts'
import type { CoreConfig } from '../../kernel/context.ts'
import { claimAt, matchClaims, pathOf, prefixOf, requireConditions } from './conditions.ts'
import type { ClaimValue, Conditions } from './contract.ts'
import { isApplied, type PeopleRule } from './stored.ts'

/**
 * The issuer of the people that a rule is for: the OpenID provider of this service. Throws
 * `invalid_request` for another one, and if there is none.
 */
export function requireProvider({ oidc }: CoreConfig, issuer = oidc?.issuer): string {
  if (oidc !== undefined && issuer === oidc.issuer) return issuer
  const detail =
    oidc === undefined
      ? 'People cannot sign in, because this service has no OpenID provider. Ask its operator to set PUBRING_OIDC_ISSUER.'
      : `People sign in at ${oidc.issuer}. Leave issuer out, or send this one.`
  throw invalidField('/issuer', 'contradictory', detail)
}

/** Claims that tell apart the users of Google, where anyone can have an account. */
const googleClaims = ['hd', 'email', 'sub']

/**
 * Throws `invalid_request` unless a condition selects some of the people of the provider. A rule for
 * all of them must say so by a condition on `iss`, which is refused where anyone can have an account, as
 * are patterns: anyone can register a domain that begins with `example.com`.
 */
export function requireSomePeople(issuer: string, conditions: Conditions): void {
  requireConditions(conditions)
  const isOpen = issuer === 'https://accounts.google.com'
  const isNarrow = ([name, value]: [string, ClaimValue]) =>
    isOpen
      ? googleClaims.includes(name) && prefixOf(value) === undefined
      : pathOf(name)[0] !== 'aud' && prefixOf(value) !== ''
  if (Object.entries(conditions).some(isNarrow)) return
  throw invalidField(
    '/conditions',
    'too_wide',
    isOpen
      ? 'Anyone can have an account at Google. Add a condition on hd (the domain of your organization), email or sub that is no pattern.'
      : 'The rule would apply to every account at the provider. Add a condition, such as {"groups": "platform"}; for all accounts, it is {"iss": "ISSUER"}.',
  )
}

/** The grants that the rules give to a person with these claims. */
export function grantsOf(person: Claimant | undefined, rules: readonly PeopleRule[]): Grant[] {
  if (person === undefined) return []
  return activeRules(person, rules)
    .filter(({ conditions }) => matchClaims(conditions, person.claims) !== undefined)
    .map(grantOf)
}

interface Claimant {
  issuer: string
  claims: Readonly<Record<string, unknown>>
}

/** The names of the claims that conditions of the rules compare, and the person lacks. */
export function missingClaims(person: Claimant, rules: readonly PeopleRule[]): string[] {
  const names = activeRules(person, rules).flatMap(({ conditions }) => Object.keys(conditions))
  return [...new Set(names)].filter((name) => claimAt(person.claims, name) === undefined)
}

function activeRules({ issuer }: Claimant, rules: readonly PeopleRule[]): PeopleRule[] {
  return rules.filter((rule) => isApplied(rule) && rule.issuer === issuer)
}
