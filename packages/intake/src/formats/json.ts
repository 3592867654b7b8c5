import { commands } from '../commands.ts'
import { type Jwk, textOf } from '../kinds/public-jwk.ts'
import { parseJson } from '../secrets/markers.ts'
import { describeEmbeddedKey } from './bare.ts'
import { isJwk, jwkFault } from './jwk.ts'
import { withoutNulls } from './key-service.ts'

/** Says what to do with JSON, also in one or two JSON strings, in place of PEM; undefined for other texts. */
export function describeJson(body: string, nesting = 0): string | undefined {
  const value = parseJson(body)
  if (typeof value === 'string' && nesting < 2) {
    return describeJson(value.trim(), nesting + 1)
  }
  if (typeof value !== 'object' || value === null) return undefined
  if (nesting > 0) return `${nameOf(value)} in a JSON string. Decode the string first.`
  return describeValue(value, body)
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
    advice: `Its key set is at its jwks_uri. Import that: ${commands.importFrom('jwks_uri')}`,
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
    advice: `Its certificates are at its client_x509_cert_url. Import them: ${commands.importFrom('client_x509_cert_url')}`,
  },
]

/** Whether a member says anything: APIs send empty lists of errors with what was asked for. */
const isFilled = (member: unknown) =>
  typeof member === 'object' ? Object.keys(member ?? {}).length > 0 : Boolean(member)

function isManifest(name: string) {
  return ({ apiVersion, kind }: Jwk) => apiVersion !== undefined && kind === name
}

function nameOf(value: object): string {
  if (Array.isArray(Object(value).keys)) return 'This is a key set (JWKS)'
  return isJwk(value) ? 'This is a JWK' : 'This is a JSON document'
}

function describeValue(value: object, text: string): string {
  const members: Jwk = withoutNulls(value)
  const document = documents.find(({ has }) => has(members))
  const name = document === undefined ? nameOf(value) : `This is ${document.name}`
  if (document?.advice !== undefined) return `${name}. ${document.advice}`
  const { keys } = members
  if (Array.isArray(keys) && (keys.length !== 1 || isJwk(keys[0]))) return describeKeySet(keys)
  if (isJwk(value)) {
    const fault = jwkFault(members, name)
    return fault?.detail ?? `${name}.${adviseMembers(members)} Convert it: ${commands.convertJwk}`
  }
  const texts = Object.values(members).filter((member) => typeof member === 'string')
  const certificates = texts.filter((each) => /-----BEGIN CERTIFICATE-----/.test(each))
  if (certificates.length > 0 && certificates.length === texts.length) {
    return `${name} with ${certificates.length} certificates. Send the public key of one, or all (${commands.importKeys('certs.json')}). To convert the first: ${commands.convertFirstCertificate}`
  }
  const inner = [...valuesIn(value)]
  if (inner.some((each) => /^\s*-----BEGIN /.test(textOf(each)))) {
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
  const embedded = describeEmbeddedKey(text, 'key.json')
  if (embedded !== undefined) return `${name}. ${embedded}`
  if (isFilled(members.error) || isFilled(members.errors)) {
    return 'This is an error message. The request for the key failed: correct that.'
  }
  if (serviceName.test(text)) {
    return `${name} that names a key of a key management service. Send the JSON of the key: aws kms get-public-key, gcloud kms keys versions get-public-key or az keyvault key show.`
  }
  return `${name}. Send the public key in PEM. To print it: ${commands.exportPublic}`
}

/** Part of the name that AWS, Google or Azure gives a key. */
const serviceName = /arn:aws[\w-]*:kms:|\/cryptoKeyVersions\/|\.vault\.azure\.\w+\/keys\//

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
  const jwk = withoutNulls(first)
  const fault = jwkFault(jwk, `${name}${keys.length === 1 ? ',' : '. The first is'} a JWK`)
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
