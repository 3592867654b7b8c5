type Members = Readonly<Record<string, unknown>>

/** A public key as a key management service prints it: PEM, with the JWS algorithm that it signs, or a JWK. */
export type ServiceKey = { version?: string } & ({ pem: string; alg?: string } | { jwk: Members })

/** The JSON of a key management service. */
export interface ServiceKeys {
  /** Names the document, such as “a key of AWS KMS”. */
  name: string
  /** One key, or the versions of one key, the newest first. */
  keys: ServiceKey[]
  /** Says, after the name, why the key signs no tokens, and what to do. */
  fault?: string
}

/**
 * The public keys in JSON that the tools of AWS KMS, Google Cloud KMS, Azure Key Vault, and the transit engine
 * of Vault and OpenBao print; undefined for any other document. Checks no key, and runs in browsers, too.
 */
export function readServiceKeys(document: unknown): ServiceKeys | undefined {
  const members = membersOf(document)
  return readAws(members) ?? readGoogle(members) ?? readAzure(members) ?? readTransit(members)
}

function membersOf(value: unknown): Members {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

/** The members that say anything: tools print a null for each that a key of another type has. */
export function withoutNulls(members: object): Members {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null))
}

/** Commands that create a key that signs, and change one. */
const aws = 'aws kms create-key --key-usage SIGN_VERIFY --key-spec ECC_NIST_P256'
const google =
  'gcloud kms keys create NAME --keyring RING --location PLACE --purpose asymmetric-signing --default-algorithm ec-sign-p256-sha256'
const azure = (verb: string) => `az keyvault key ${verb} --vault-name VAULT --name NAME`
const transit = 'vault write transit/keys/NAME type=ecdsa-p256'

/** The fault of a key that is for something else. */
const misfit = (problem: string | false, command: string) =>
  problem ? { fault: `${problem}. Create a key that signs: ${command}` } : {}

function readAws({ KeyId, PublicKey, KeyUsage = 'SIGN_VERIFY' }: Members) {
  // Other services write PEM here.
  if (KeyId === undefined || typeof PublicKey !== 'string' || /-----/.test(PublicKey)) {
    return undefined
  }
  const usages = ['ENCRYPT_DECRYPT', 'KEY_AGREEMENT', 'GENERATE_VERIFY_MAC']
  const usage = usages.find((each) => each === KeyUsage) ?? 'not SIGN_VERIFY'
  return {
    name: 'a key of AWS KMS',
    keys: [{ pem: `-----BEGIN PUBLIC KEY-----\n${PublicKey}\n-----END PUBLIC KEY-----` }],
    ...misfit(KeyUsage !== 'SIGN_VERIFY' && `whose KeyUsage is ${usage}`, aws),
  }
}

/** A key of Google signs with one algorithm, whose name also tells its purpose (CryptoKeyVersionAlgorithm). */
function readGoogle({ pem, algorithm }: Members) {
  if (typeof pem !== 'string' || typeof algorithm !== 'string') return undefined
  const [, padding, bits] = /^RSA_SIGN_(PKCS1|PSS)_\d+_SHA(\d+)$/.exec(algorithm) ?? []
  const purpose = algorithm.includes('_DECRYPT_') ? 'for decryption' : 'not for signatures'
  return {
    name: 'a key of Google Cloud KMS',
    keys: [{ pem, ...(bits && { alg: `${padding === 'PSS' ? 'PS' : 'RS'}${bits}` }) }],
    ...misfit(!algorithm.includes('_SIGN_') && `whose algorithm is ${purpose}`, google),
  }
}

/** The key of a bundle, the only one of a set, or the key alone; its kid is its address. */
function readAzure(document: Members) {
  const { key, keys } = document
  const only = Array.isArray(keys) && keys.length === 1 ? keys[0] : undefined
  const { keyOps, key_ops: operations = keyOps, ...jwk } = membersOf(key ?? only ?? document)
  const { kid, kty } = jwk
  if (typeof kid !== 'string' || typeof kty !== 'string' || !azureKey.test(kid)) return undefined
  const { enabled, exp, expires } = membersOf(document.attributes)
  // The tool prints a text, the service a number of seconds.
  const end = typeof exp === 'number' ? exp * 1_000 : Date.parse(String(expires ?? ''))
  const signs =
    !Array.isArray(operations) || operations.some((name) => /^(sign|verify)$/.test(name))
  return {
    name: 'a key of Azure Key Vault',
    keys: [{ jwk: { ...withoutNulls(jwk), kty: kty.replace(/-HSM$/, '') } }],
    ...(enabled === false && {
      fault: `that is disabled. Enable it, and print it again: ${azure('set-attributes')} --enabled true`,
    }),
    ...(end <= Date.now() && {
      fault: `that has expired. Rotate it, and print its new version: ${azure('rotate')}`,
    }),
    ...misfit(
      !signs && 'whose operations have no “sign”',
      `${azure('create')} --kty EC --curve P-256 --ops sign verify`,
    ),
  }
}

const azureKey = /^https:\/\/[\w-]+\.(?:vault|managedhsm)\.[\w.]+\/keys\//

/** The versions of a key, by their numbers. */
function readTransit(document: Members) {
  const data = membersOf(document.data ?? document)
  const signs = data.supports_signing !== false
  const versions = Object.entries(membersOf(data.keys ?? data))
  const isVersion = ([version, value]: [string, unknown]) =>
    /^\d+$/.test(version) && (!signs || typeof membersOf(value).public_key === 'string')
  if (versions.length === 0 || !versions.every(isVersion)) return undefined
  const keys = versions.flatMap(([version, value]) => transitKey(version, membersOf(value)))
  const isDerived = keys.length === 0 && 'that is derived, and has no public key of its own'
  return {
    name: 'a key of the transit engine of Vault or OpenBao',
    keys: keys.sort((one, other) => Number(other.version) - Number(one.version)),
    ...misfit(signs ? isDerived : 'whose type signs nothing', transit),
  }
}

/** PEM, or the base64 of the bytes of an Ed25519 or ML-DSA key; nothing for a derived key. */
function transitKey(version: string, { public_key: text, name }: Members): ServiceKey[] {
  if (typeof text !== 'string' || text === '') return []
  if (text.includes('-----BEGIN')) return [{ version, pem: text }]
  const [, size] = /^mldsa-(\d+)$/.exec(String(name)) ?? []
  if (size === undefined) return [{ version, jwk: { kty: 'OKP', crv: 'Ed25519', x: text } }]
  return [{ version, jwk: { kty: 'AKP', alg: `ML-DSA-${size}`, pub: text } }]
}
