import { commands } from '../commands.ts'
import type { Jwk } from '../kinds/public-jwk.ts'
import { describeEmbeddedKey } from './bare.ts'
import { isJwk, jwkFault } from './jwk.ts'

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

/** Documents that programs write, each with the member by which it is known. */
const documents: readonly {
  name: string
  has: (document: Jwk) => boolean
  /** How to get a key of it, if not as from any other document. */
  advice?: string
}[] = [
  {
    name: 'a discovery document',
    has: ({ jwks_uri }) => jwks_uri !== undefined,
    advice: `Its key set is at its jwks_uri. Import that: ${commands.importDiscovered}`,
  },
  {
    name: 'an export of pubring',
    has: ({ format }) => format === 'pubring-export',
    advice: `Import it: ${commands.importKeys('export.json')}`,
  },
  {
    name: 'a declaration of keys',
    has: ({ keys }) =>
      Array.isArray(keys) && keys.some((key) => Object.hasOwn(Object(key), 'file')),
    advice: `Apply it: ${commands.applyKeys}`,
  },
  {
    name: 'the output of aws kms get-public-key',
    has: ({ KeyId, PublicKey }) => KeyId !== undefined && PublicKey !== undefined,
  },
  {
    name: 'a key of the transit engine of Vault, with its versions',
    has: ({ data }) => Object.values(Object(Object(data).keys)).some(hasPublicKey),
    advice: `To print the newest: ${commands.printVaultKey}`,
  },
  { name: 'a key of Google Cloud KMS', has: ({ pem, algorithm }) => Boolean(pem && algorithm) },
  {
    name: 'a key of Azure Key Vault',
    has: ({ key }) => /\.vault\.azure\./.test(String(Object(key).kid)),
  },
  {
    name: 'a Secret of Kubernetes',
    has: isManifest('Secret'),
    advice: `To print the first of its texts that is PEM: ${commands.printSecret}`,
  },
  { name: 'a ConfigMap of Kubernetes', has: isManifest('ConfigMap') },
  {
    name: 'the list of keys of a Keycloak realm',
    has: ({ keys }) => Array.isArray(keys) && keys.some((key) => Object(key).providerId),
    advice: 'Import its key set, which is at protocol/openid-connect/certs below the realm.',
  },
  { name: 'a DID document', has: ({ verificationMethod }) => Array.isArray(verificationMethod) },
  { name: 'a Terraform state', has: ({ terraform_version }) => terraform_version !== undefined },
  {
    name: 'a service account of Google',
    has: ({ client_x509_cert_url }) => client_x509_cert_url !== undefined,
    advice: `Its certificates are at its client_x509_cert_url. Import them: ${commands.importServiceAccount}`,
  },
  {
    name: 'an error message',
    has: ({ error, errors }) => Boolean(error ?? errors),
    advice: 'The request for the key failed: correct that.',
  },
]

function hasPublicKey(version: unknown): boolean {
  return typeof Object(version).public_key === 'string'
}

function isManifest(name: string) {
  return ({ apiVersion, kind }: Jwk) => apiVersion !== undefined && kind === name
}

function nameOf(value: object): string {
  if (Array.isArray(Object(value).keys)) return 'This is a key set (JWKS)'
  return isJwk(value) ? 'This is a JWK' : 'This is a JSON document'
}

function describeValue(value: object): string {
  const members: Jwk = { ...value }
  const document = documents.find(({ has }) => has(members))
  const name = document === undefined ? nameOf(value) : `This is ${document.name}`
  if (document?.advice !== undefined) return `${name}. ${document.advice}`
  if (Array.isArray(members.keys)) return describeKeySet(members.keys)
  if (isJwk(value)) {
    const fault = jwkFault(members, name)
    return fault?.detail ?? `${name}.${adviseMembers(members)} Convert it: ${commands.convertJwk}`
  }
  const texts = Object.values(members).filter((member) => typeof member === 'string')
  const certificates = texts.filter((text) => /-----BEGIN CERTIFICATE-----/.test(text))
  if (certificates.length > 0 && certificates.length === texts.length) {
    return `${name} with ${certificates.length} certificates. Send the public key of one, or all (${commands.importKeys('certs.json')}). To convert the first: ${commands.convertFirstCertificate}`
  }
  const inner = [...valuesIn(value)]
  if (inner.some((text) => /^\s*-----BEGIN /.test(String(text)))) {
    return `${name} that contains PEM. Send only that text, in publicKeyPem. To print the first: ${commands.printNestedPem}`
  }
  const nested = inner.find(isJwk)
  if (nested !== undefined) {
    const fault = jwkFault(nested, `${name}. The first key is a JWK`)
    return (
      fault?.detail ??
      `${name} that contains a JWK.${adviseMembers(nested)} Convert the first: ${commands.convertNestedJwk}`
    )
  }
  const embedded = describeEmbeddedKey(JSON.stringify(value), 'key.json')
  if (embedded !== undefined) return `${name}. ${embedded}`
  return `${name}. Send the public key in PEM. To print it: ${commands.exportPublic}`
}

/** Deeper values are not searched. */
const maxDepth = 8

/** The values of a document, each before those in it. */
function* valuesIn(value: unknown, depth = 0): Generator<unknown> {
  yield value
  if (typeof value !== 'object' || value === null || depth === maxDepth) return
  for (const member of Object.values(value)) yield* valuesIn(member, depth + 1)
}

function describeKeySet(keys: readonly unknown[]): string {
  const name = `This is a key set (JWKS) with ${keys.length === 1 ? 'one key' : `${keys.length} keys`}`
  const [first] = keys
  if (typeof first !== 'object' || first === null) return `${name}. Send one public key in PEM.`
  const jwk: Jwk = { ...first }
  const fault = jwkFault(jwk, `${name}. The first is a JWK`)
  if (fault !== undefined) return fault.detail
  const convert = `convert ${keys.length === 1 ? 'it' : 'the first'}: ${commands.convertFirstJwk}`
  if (keys.length === 1) return `${name}.${adviseMembers(jwk)} To ${convert}`
  return `${name}. Send one of them, or all (${commands.importKeys('jwks.json')}). To ${convert}`
}

/** The PEM of a JWK has neither: tokens with a kid that is not published are refused. */
function adviseMembers({ kid, exp }: Jwk): string {
  const end = exp === undefined ? '' : ' Send its exp as expireTime.'
  return kid === undefined ? end : ` If tokens carry its kid, send that as publishedKid.${end}`
}
