import { invalidField } from '../../errors.ts'
import { maxPlainLength as maxLength, plainFault } from '../../kernel/values/labels.ts'
import { isObject } from '../../runtime/json.ts'
import { quote } from '../../tokens/findings.ts'
import type { ClaimValue, Conditions } from './contract.ts'

type Claims = Readonly<Record<string, unknown>>

const maxConditions = 32

/** Elements of a list that are named. */
const maxElements = 5

/** Applies a merge patch (RFC 7396): null removes a condition. */
export function mergeConditions(
  before: Conditions,
  patch: Readonly<Record<string, ClaimValue | null>> | undefined,
): Conditions {
  const merged = Object.entries({ ...before, ...patch })
  return Object.fromEntries(
    merged.flatMap(([name, value]) => (value === null ? [] : [[name, value]])),
  )
}

/**
 * Compares verified claims with conditions. Nothing is converted: the number 7 is not the text "7".
 * One element of a list must meet the condition. A condition on `email` also requires
 * `email_verified`, because providers let people enter the addresses of others. Returns each claim with
 * the value that meets its condition; undefined unless all conditions are met.
 */
export function matchClaims(
  conditions: Conditions,
  claims: Claims,
): [claim: string, value: ClaimValue][] | undefined {
  if (lacksVerifiedEmail(conditions, claims)) return undefined
  const matched: [string, ClaimValue][] = []
  for (const [name, expected] of Object.entries(conditions)) {
    const value = valueThatMeets(claims, name, expected)
    if (value === undefined) return undefined
    matched.push([name, value])
  }
  return matched
}

/** One sentence for each condition that is not met. Searches all claims, for a hint. */
export function explainUnmet(conditions: Conditions, claims: Claims): string[] {
  const unmet = Object.entries(conditions)
    .filter(([name, expected]) => valueThatMeets(claims, name, expected) === undefined)
    .map(([name, expected]) => describeUnmet(name, expected, claims))
  if (!lacksVerifiedEmail(conditions, claims)) return unmet
  const { email_verified: verified } = claims
  const found = verified === undefined ? 'is missing' : `is ${describe(verified)}, not true`
  return [...unmet, `email_verified ${found}, so the email may belong to another person.`]
}

function valueThatMeets(
  claims: Claims,
  name: string,
  expected: ClaimValue,
): ClaimValue | undefined {
  const found = [claimAt(claims, name)].flat().find((one) => meets(one, expected))
  return found as ClaimValue | undefined
}

function lacksVerifiedEmail(conditions: Conditions, { email_verified: verified }: Claims): boolean {
  // Some providers send booleans as texts.
  if (verified === true || verified === 'true') return false
  return Object.keys(conditions).some((name) => pathOf(name)[0] === 'email')
}

function meets(value: unknown, expected: ClaimValue): boolean {
  const prefix = prefixOf(expected)
  if (prefix === undefined) return value === expected
  return typeof value === 'string' && value.startsWith(prefix)
}

/** The text before the `*` at the end of a pattern; undefined for a literal. */
export function prefixOf(expected: ClaimValue): string | undefined {
  const isPattern = typeof expected === 'string' && expected.endsWith('*')
  return isPattern ? expected.slice(0, -1) : undefined
}

/** The claim with this name or, if it begins with a slash, at this JSON pointer (RFC 6901). */
export function claimAt(claims: Claims, name: string): unknown {
  let value: unknown = claims
  for (const step of pathOf(name)) {
    const isMember = isObject(value) || (Array.isArray(value) && /^(0|[1-9]\d*)$/.test(step))
    if (!isMember || !Object.hasOwn(Object(value), step)) return undefined
    value = Reflect.get(Object(value), step)
  }
  return value
}

/** The name of a claim, and the steps from it to the one inside it that a condition is on. */
export function pathOf(name: string): string[] {
  return name.startsWith('/') ? name.slice(1).split('/').map(unescapePointer) : [name]
}

const unescapePointer = (step: string) => step.replaceAll('~1', '/').replaceAll('~0', '~')

function describeUnmet(name: string, expected: ClaimValue, claims: Claims): string {
  const claim = quote(name, maxLength)
  const value = claimAt(claims, name)
  if (value === undefined) {
    const similar = similarClaim(claims, name)
    const hint = similar === undefined ? '' : ` It has ${quote(similar, 200)}.`
    return `The token has no claim ${claim}.${hint}`
  }
  if (Array.isArray(value)) {
    const elements = value.slice(0, maxElements).map(describe)
    const others = value.length > maxElements ? ', …' : ''
    const found = value.length === 0 ? ': it is empty' : `: it has ${elements.join(', ')}${others}`
    return `No element of ${claim} is ${describe(expected)}${found}.`
  }
  const isSameText = !isObject(value) && String(value) === String(expected)
  const hint = isSameText ? ' Write the condition with the type of the claim.' : ''
  return `${claim} is ${describe(value)}, not ${describe(expected)}.${hint}`
}

/**
 * The name of a claim, or the pointer to one inside another, that the condition may mean: the same names
 * in another case or joined otherwise, such as `kubernetes.io.namespace`, or without the outer ones.
 */
function similarClaim(claims: Claims, name: string): string | undefined {
  const wanted = spelling(pathOf(name))
  const paths = pathsIn(claims)
  const found =
    paths.find((path) => spelling(path) === wanted) ??
    paths.find((path) => spelling(path).endsWith(wanted))
  if (found === undefined || found.length === 1) return found?.[0]
  return found.map((step) => `/${escapePointer(step)}`).join('')
}

const spelling = (path: readonly string[]) =>
  `.${path.join('.').toLowerCase().replaceAll(/[/:]/g, '.')}`

const maxDepth = 5

/** The names of all claims, and the ways to those inside others. */
function pathsIn(value: unknown, before: readonly string[] = []): string[][] {
  if (!isObject(value) || before.length === maxDepth) return []
  return Object.entries(value).flatMap(([name, inner]) => {
    const path = [...before, name]
    return [path, ...pathsIn(inner, path)]
  })
}

const escapePointer = (step: string) => step.replaceAll('~', '~0').replaceAll('/', '~1')

function describe(value: unknown): string {
  if (typeof value === 'string') return quote(value, 200)
  if (typeof value === 'number' || typeof value === 'boolean') return `the ${typeof value} ${value}`
  return value === null ? 'null' : Array.isArray(value) ? 'an array' : 'an object'
}

/** Throws `invalid_request` for conditions that could not be compared, or not as their author means. */
export function requireConditions(conditions: Conditions): void {
  if (Object.keys(conditions).length > maxConditions) {
    const detail = `conditions may have no more than ${maxConditions} claims.`
    throw invalidField('/conditions', 'too_long', detail)
  }
  const faults = Object.entries(conditions).flatMap(
    ([name, value]) => nameFault(name) ?? valueFault(name, value) ?? [],
  )
  if (faults.length > 0) throw invalidField('/conditions', 'condition_invalid', faults.join(' '))
}

/** A start of line, a repetition of any character, an escaped character, a set, or alternatives. */
const regularExpression = /^\^|\.[*+]|\\[dDwWsSbB./-]|\[[^\]]*\][*+?{]|\([^()]*\|[^()]*\)/

function nameFault(name: string): string | undefined {
  const fault = plainFault(name)
  if (name !== '' && fault !== undefined) return `The name of a claim ${fault}`
  if (name !== '' && !/~(?![01])/.test(name.startsWith('/') ? name : '')) {
    // Names with a colon or a slash are those of namespaces, such as https://example.com/roles.
    const isPath = /^[\w-]+(?:\.[\w-]+)+$|^kubernetes\.io\//.test(name)
    return isPath ? describePath(name) : undefined
  }
  return 'A condition names no claim: send the name of a claim, or a JSON pointer such as /kubernetes.io/namespace to one inside another.'
}

function describePath(name: string): string {
  // The one claim whose own name has a dot that platforms put others into.
  const [, inner] = /^kubernetes\.io[./](.*)$/.exec(name) ?? []
  const nested = `/${inner === undefined ? '' : 'kubernetes.io/'}${(inner ?? name).replaceAll('.', '/')}`
  return `The condition on ${quote(name)} names no claim inside another: for that, write the JSON pointer ${quote(nested)}. For a claim with this very name, write ${quote(`/${escapePointer(name)}`)}.`
}

function valueFault(name: string, value: ClaimValue): string | undefined {
  if (typeof value === 'number' && !Number.isSafeInteger(value)) {
    return `The condition on ${quote(name)} must be a whole number that JSON keeps exactly.`
  }
  if (typeof value !== 'string') return undefined
  const fault = plainFault(value)
  if (fault !== undefined) return `The condition on ${quote(name)} ${fault}`
  if (regularExpression.test(value)) {
    return `The condition on ${quote(name)} looks like a regular expression, but is compared as it is. Write the whole text, or its beginning and a * at its end.`
  }
  if (/\*(?!$)/.test(value)) {
    return `The condition on ${quote(name)} has a * that is not at its end. A pattern has one, as its last character.`
  }
  return undefined
}
