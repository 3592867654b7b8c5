import { isAlgorithm, jwsAlgorithmNames } from '../algorithms.ts'
import { commands } from '../commands.ts'
import { base64urlToBigInt, fixedBytes } from '../encoding/bytes.ts'
import { requiredMembers } from '../encoding/jwk.ts'
import { decodePoint, type JoseCurve, joseCurves } from '../kinds/curves.ts'
import { isSignatureUse, type Jwk, textOf } from '../kinds/public-jwk.ts'
import { withoutNulls } from './key-service.ts'

/** Why a JWK cannot be registered. */
interface JwkFault {
  code:
    | 'symmetric_key'
    | 'unsupported_key'
    | 'not_for_signatures'
    | 'unsupported_algorithm'
    | 'invalid_jwk'
  detail: string
}

/** Whether an object is a JWK, even if it lacks its `kty`. */
export function isJwk(value: unknown): value is Jwk {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  return 'kty' in value || ('n' in value && 'e' in value) || ('crv' in value && 'x' in value)
}

/**
 * The first fault that keeps a JWK from being registered, found in its members before its numbers are
 * checked. `name` begins the sentence.
 */
export function jwkFault(document: Jwk, name = 'This is a JWK'): JwkFault | undefined {
  const jwk = withoutNulls(document)
  const required = membersOfType.get(jwk.kty)
  if (required === undefined) return typeFault(jwk.kty, name)
  const [code, problem] =
    purposeProblem(jwk) ?? certificateProblem(jwk) ?? memberProblem(jwk, required) ?? []
  return code && { code, detail: `${name} ${problem}` }
}

const membersOfType = new Map<unknown, string[]>(Object.entries(requiredMembers))

type Problem = [code: JwkFault['code'], problem: string]

/** Other names of the types, in lower case. */
const typeNames = new Map([
  ['rsa', 'RSA'],
  ['rsa-hsm', 'RSA'],
  ['ec', 'EC'],
  ['ec-hsm', 'EC'],
  ['ecdsa', 'EC'],
  ['okp', 'OKP'],
  ['eddsa', 'OKP'],
  ['ed25519', 'OKP'],
  ['akp', 'AKP'],
])

function typeFault(kty: unknown, name: string): JwkFault {
  if (kty === undefined) {
    const detail = `${name} whose member kty is missing: it must be RSA, EC, OKP or AKP. ${exportAgain}`
    return { code: 'unsupported_key', detail }
  }
  const mismatch = `${name} whose kty is not RSA, EC, OKP or AKP`
  if (kty === 'oct') {
    const detail = `${mismatch}: a symmetric key (oct) is a secret, and cannot verify tokens of others.`
    return { code: 'symmetric_key', detail }
  }
  const right = typeNames.get(textOf(kty).toLowerCase())
  const advice = right === undefined ? '. It cannot be used.' : `: write ${right}.`
  return { code: 'unsupported_key', detail: mismatch + advice }
}

const exportAgain = `Export the key again: ${commands.exportPublic}`

/** A fault of the members that say what the key is for, and when. */
function purposeProblem({ use, key_ops, alg, exp, nbf }: Jwk): Problem | undefined {
  if (!isSignatureUse(use)) {
    return ['not_for_signatures', 'that does not verify tokens: its use is not “sig”.']
  }
  if (key_ops !== undefined && !(Array.isArray(key_ops) && key_ops.includes('verify'))) {
    return ['not_for_signatures', 'that does not verify tokens: its key_ops have no “verify”.']
  }
  if (alg !== undefined && !isAlgorithm(alg)) {
    const right = jwsAlgorithmNames.find(
      (known) => known.toLowerCase() === textOf(alg).toLowerCase(),
    )
    const advice = right === undefined ? '' : ` Write ${right}.`
    const problem = `whose alg must be one of ${jwsAlgorithmNames.join(', ')}, or absent.${advice}`
    return ['unsupported_algorithm', problem]
  }
  const problem = timeProblem(exp) ?? timeProblem(nbf)
  if (problem === undefined) return undefined
  return ['invalid_jwk', `whose exp and nbf must be ${problem}.`]
}

function timeProblem(time: unknown): string | undefined {
  if (time === undefined) return undefined
  if (typeof time !== 'number') return 'numbers: seconds since 1970'
  if (time < oldest) return 'times after 1979, in seconds since 1970'
  return time < distant ? undefined : 'in seconds since 1970, not milliseconds'
}

/** Lower numbers are durations, of up to ten years; from the year 10000 on they are in milliseconds. */
const oldest = 315_360_000
const distant = 253_402_300_800

function certificateProblem({ n, x, x5c, x5u }: Jwk): Problem | undefined {
  if (n !== undefined || x !== undefined) return undefined
  if (Array.isArray(x5c)) {
    const problem = `that has its key only in a certificate (x5c). Convert that: ${commands.convertX5c}`
    return ['invalid_jwk', problem]
  }
  if (x5u === undefined) return undefined
  return ['invalid_jwk', 'that has its key only at an address (x5u): fetch the certificate there.']
}

function memberProblem(jwk: Jwk, required: readonly string[]): Problem | undefined {
  for (const member of required) {
    const problem = member === 'crv' ? curveProblem(jwk) : textProblem(member, jwk[member])
    if (problem !== undefined) {
      return ['invalid_jwk', `whose member ${member} ${problem}. ${exportAgain}`]
    }
  }
  const problem = jwk.kty === 'EC' ? pointProblem(jwk) : lengthProblem(jwk)
  return problem === undefined ? undefined : ['invalid_jwk', `${problem}. ${exportAgain}`]
}

function textProblem(member: string, value: unknown): string | undefined {
  if (value === undefined) return 'is missing'
  const isExponent = member === 'e' && /^(?:0x)?\d+$/.test(textOf(value))
  const advice = isExponent ? ': 65537 is AQAB' : ''
  const notBase64url = `is not a text in base64url${advice}`
  if (typeof value !== 'string') return notBase64url
  const digits = value.replaceAll(/^0x|[\s:]/gi, '')
  if (/^\d{64,}$/.test(digits)) return 'is a decimal number, and must be in base64url'
  if (/^[0-9a-f]{64,}$/i.test(digits)) return 'is in hexadecimal, and must be in base64url'
  return isExponent || !/^[\w+/-]+=*$/.test(value) ? notBase64url : undefined
}

/** Other names of the curves of JWS, in lower case and without dashes. */
const curveNames = new Map(
  Object.entries({
    'P-256': ['p256', 'nistp256', 'secp256r1', 'prime256v1', 'es256'],
    'P-384': ['p384', 'nistp384', 'secp384r1', 'es384'],
    'P-521': ['p521', 'nistp521', 'secp521r1', 'es512', 'p512'],
    Ed25519: ['ed25519', 'eddsa'],
  }).flatMap(([name, others]) => others.map((other) => [other, name])),
)

function curveProblem({ kty, crv }: Jwk): string | undefined {
  if (crv === undefined) return 'is missing'
  const names: readonly unknown[] =
    kty === 'EC' ? joseCurves.map(({ name }) => name) : ['Ed25519', ...agreementCurves]
  if (names.includes(crv)) return undefined
  const right = curveNames.get(textOf(crv).toLowerCase().replaceAll(/[-_]/g, ''))
  if (right === undefined) return 'is not P-256, P-384, P-521 or Ed25519, which tokens use'
  if (right === crv) return `is ${right}, which needs the kty ${kty === 'EC' ? 'OKP' : 'EC'}`
  return `is not written like ${right}`
}

/** Curves whose keys the checks of numbers name. */
const agreementCurves = ['X25519', 'X448']

function lengthProblem({ kty, crv, x }: Jwk): string | undefined {
  if (kty !== 'OKP' || crv !== 'Ed25519') return undefined
  const { length } = Buffer.from(textOf(x), 'base64url')
  return length === 32 ? undefined : `whose member x has ${length} bytes instead of 32`
}

function pointProblem({ crv, x, y }: Jwk): string | undefined {
  const curve = joseCurves.find(({ name }) => name === crv)
  if (curve === undefined || isPoint(curve, x, y)) return undefined
  if (isPoint(curve, y, x)) return 'whose members x and y are in each other’s place'
  const other = joseCurves.find((each) => isPoint(each, x, y))
  if (other !== undefined) return `whose crv must be ${other.name}: its point is on that curve`
  return `whose members x and y are no point on ${curve.name}: one of them is damaged`
}

/** Whether two coordinates, with any number of leading zeros, are a point on the curve. */
function isPoint(curve: JoseCurve, ...coordinates: [x: unknown, y: unknown]): boolean {
  const numbers = coordinates.map((text) => base64urlToBigInt(textOf(text)))
  if (numbers.some((number) => number >> BigInt(8 * curve.size) !== 0n)) return false
  const bytes = numbers.map((number) => fixedBytes(number, curve.size))
  return decodePoint(curve, Buffer.concat([Uint8Array.of(4), ...bytes])) !== undefined
}
