import { commands } from '../commands.ts'
import { requiredMembers } from '../encoding/jwk.ts'
import { describeEmbeddedKey } from './bare.ts'

/** Says what to do with JSON in place of PEM; undefined if the text is none. */
export function describeJson(body: string): string | undefined {
  const { value, isNested } = findObject(body) ?? {}
  if (value === undefined) return undefined
  if (isNested) return `${nameOf(value)} in a JSON string. Decode the string first.`
  return describeValue(value)
}

/** The JSON object or array in a text, even if it is encoded as a JSON string once or twice more. */
function findObject(body: string): { value: object; isNested: boolean } | undefined {
  let text = body
  for (let depth = 0; depth < 3 && /^["{[]/.test(text); depth += 1) {
    const value = parseJson(text)
    if (typeof value === 'object' && value !== null) return { value, isNested: depth > 0 }
    text = typeof value === 'string' ? value.trim() : ''
  }
  return undefined
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

type Members = Readonly<Record<string, unknown>>

function nameOf(value: object): string {
  if (Object.hasOwn(value, 'keys')) return 'This is a key set (JWKS)'
  return 'kty' in value ? 'This is a JWK' : 'This is a JSON document'
}

function describeValue(value: object): string {
  const members: Members = { ...value }
  const name = nameOf(value)
  if (Array.isArray(members.keys)) return describeKeySet(members.keys)
  if ('kty' in members) {
    const fault = describeFault(members, name)
    return fault ?? `${name}.${adviseKid(members)} Convert it: ${commands.convertJwk}`
  }
  const texts = Object.values(members).filter((member) => typeof member === 'string')
  const certificates = texts.filter((text) => /-----BEGIN CERTIFICATE-----/.test(text))
  if (certificates.length > 0 && certificates.length === texts.length) {
    return `${name} with ${certificates.length} certificates. Send the public key of one, or all (${commands.importKeys('certs.json')}). To convert the first: ${commands.convertFirstCertificate}`
  }
  const json = JSON.stringify(value)
  if (/-----BEGIN /.test(json)) {
    return `${name} that contains PEM. Send only that text, in publicKeyPem.`
  }
  const nested = Object.values(members).find((each) => Object.hasOwn(Object(each), 'kty'))
  if (nested !== undefined) {
    const fault = describeFault(Object(nested), `${name}. The first key is a JWK`)
    return (
      fault ??
      `${name} that contains a JWK.${adviseKid(Object(nested))} Convert the first: ${commands.convertNestedJwk}`
    )
  }
  const embedded = describeEmbeddedKey(json, 'key.json')
  if (embedded !== undefined) return `${name}. ${embedded}`
  return `${name}. Send the public key in PEM. To print it: ${commands.exportPublic}`
}

function describeKeySet(keys: readonly unknown[]): string {
  const name = `This is a key set (JWKS) with ${keys.length === 1 ? 'one key' : `${keys.length} keys`}`
  const [first] = keys
  if (typeof first !== 'object' || first === null) return `${name}. Send one public key in PEM.`
  const fault = describeFault({ ...first }, `${name}. The first is a JWK`)
  if (fault !== undefined) return fault
  const convert = `convert ${keys.length === 1 ? 'it' : 'the first'}: ${commands.convertFirstJwk}`
  if (keys.length === 1) return `${name}.${adviseKid(Object(first))} To ${convert}`
  return `${name}. Send one of them, or all (${commands.importKeys('jwks.json')}). To ${convert}`
}

/** Its PEM has no kid, and tokens with a kid that is not published are refused. */
function adviseKid({ kid }: Members): string {
  return kid === undefined ? '' : ' If tokens carry its kid, send that as publishedKid.'
}

/** The fault that keeps a JWK from being read; undefined if its members have the right form. */
export function describeJwkFault(jwk: Members): string | undefined {
  return describeFault(jwk, 'This is a JWK')
}

function describeFault(jwk: Members, name: string): string | undefined {
  const members = membersOfType.get(jwk.kty)
  if (members === undefined)
    return `${name} whose kty is not RSA, EC, OKP or AKP. It cannot be used.`
  const faults = members.map((member) => ({ member, problem: problemOf(member, jwk[member]) }))
  const fault = faults.find(({ problem }) => problem !== undefined)
  if (fault === undefined) return undefined
  return `${name} whose member ${fault.member} ${fault.problem}. Export the key again: ${commands.exportPublic}`
}

const membersOfType = new Map<unknown, string[]>(Object.entries(requiredMembers))

function problemOf(member: string, value: unknown): string | undefined {
  if (value === undefined) return 'is missing'
  if (typeof value !== 'string' || !/^[\w+/-]+=*$/.test(value)) return 'is not a text in base64url'
  if (member === 'crv' && /^p\d+$/i.test(value)) return 'is not written like P-256'
  const isHex = /^(?:[0-9a-f]{64,}|[0-9A-F]{64,})$/.test(value)
  return isHex ? 'is in hexadecimal, and must be in base64url' : undefined
}
