import { type Algorithm, jwsAlgorithmOf } from './algorithms.ts'
import { type Blocklist, publishedIn } from './blocklists/blocklist.ts'
import { commands } from './commands.ts'
import { crossCheck } from './cross-check.ts'
import { minimalBytes, toBigInt } from './encoding/bytes.ts'
import { DerError } from './encoding/der.ts'
import { sha256Hex, thumbprintOf } from './encoding/jwk.ts'
import { type Pem, readPem } from './encoding/pem.ts'
import { writePem } from './encoding/pem-writer.ts'
import { checkCharacters, isBlank, maxTextLength } from './encoding/text.ts'
import { deriveExposedKey } from './exposed/derive.ts'
import { readServiceText } from './formats/service-text.ts'
import { examineDer } from './kinds/spki.ts'
import type { Examination, ParsedKey, SlowRules } from './parsed-key.ts'
import { containsSecret, findSecret, holdsSecret, type SecretFinding } from './secrets/detector.ts'
import type { Fault, KeyDescription, Rejected, Repair, Verdict } from './types.ts'
import { detectWrongKind } from './wrong-kind.ts'

/**
 * Examines the text of one public key: parses it strictly, checks its numbers, and returns the
 * canonical key or every independent reason to reject it, except that the slow rules are checked only
 * if nothing else rejects it. Pure and synchronous. An RSA key takes 5 to 300 ms, so a server calls it
 * in a worker thread.
 *
 * @param algorithm The algorithm that the key is pinned to; by default the first that matches.
 * @throws Error if Node reads the canonical DER differently; never for bad input.
 */
export function examineKey(
  text: string,
  algorithm: Algorithm | undefined,
  blocklist: Blocklist,
): Verdict {
  const canonical = examineCanonical(text, algorithm, blocklist)
  if (canonical !== undefined) return canonical
  const parsed = parseText(text)
  if ('rejected' in parsed) return parsed.rejected
  if ('secret' in parsed) return rejectPrivateKey(deriveExposedKey(parsed.secret))
  return examinePem(parsed, algorithm, blocklist)
}

/**
 * Like `examineKey`, but only for texts that take less than 2 ms, so that it can run on the event
 * loop: short ones that contain neither an RSA nor a private key. Returns undefined for others.
 */
export function examineCheaply(
  text: string,
  algorithm: Algorithm | undefined,
  blocklist: Blocklist,
): Verdict | undefined {
  if (text.length > maxCheapLength) {
    return text.length > maxTextLength ? rejectLongText(text) : undefined
  }
  const canonical = examineCanonical(text, algorithm, blocklist)
  if (canonical !== undefined) return canonical
  const parsed = parseText(text)
  if ('rejected' in parsed) return parsed.rejected
  if ('secret' in parsed || parsed.pem.der.length > maxCheapDerLength) return undefined
  return examinePem(parsed, algorithm, blocklist)
}

/** The public key of a text, without a check of its numbers; undefined unless there is exactly one. */
export function identifyKey(text: string): KeyDescription | undefined {
  const parsed = parseText(text)
  const key = 'pem' in parsed ? examine(parsed).key : undefined
  return key && describe(key)
}

/** A P-521 key in PEM has 268 characters, and a few more with indentation or CRLF. */
const maxCheapLength = 400
/** A P-521 SPKI has 158 bytes; every RSA key whose numbers are checked is longer. */
const maxCheapDerLength = 160

interface ParsedText {
  pem: Pem
  /** The only JWS algorithm that the key signs, if the text says so. */
  alg?: string | undefined
  repairs: ReadonlySet<Repair>
}

function parseText(text: string): ParsedText | { rejected: Rejected } | { secret: SecretFinding } {
  if (text.length > maxTextLength) return { rejected: rejectLongText(text) }
  if (isBlank(text)) return { rejected: reject([missingKey]) }
  const secret = findSecret(text)
  if (secret !== undefined) return { secret }
  const wrongKind = detectWrongKind(text)
  if (wrongKind !== undefined) return { rejected: reject([wrongKind]) }
  const service = readServiceText(text)
  const { pem: block, alg } = service && 'pem' in service ? service : { pem: text }
  const characters = checkCharacters(block)
  if (characters.length > 0) return { rejected: reject(characters) }
  const { pem, faults, repairs } = readPem(block)
  if (service !== undefined) repairs.add('key_service')
  return pem === undefined ? { rejected: reject(faults, [...repairs]) } : { pem, repairs, alg }
}

/**
 * The verdict on a text that is nothing but the canonical PEM of an acceptable short key, as most are:
 * without the search for encodings of a private key, for which it has no room. Undefined for any other
 * text.
 */
function examineCanonical(
  text: string,
  algorithm: Algorithm | undefined,
  blocklist: Blocklist,
): Verdict | undefined {
  const [, body] = canonicalPem.exec(text) ?? []
  if (body === undefined) return undefined
  const der = Buffer.from(body, 'base64')
  if (der.length > maxCheapDerLength || holdsSecret(der) || writePem(der) !== text) return undefined
  const pem: Pem = { label: 'PUBLIC KEY', der }
  const verdict = examinePem({ pem, repairs: new Set() }, algorithm, blocklist)
  return verdict.ok ? verdict : undefined
}

const canonicalPem =
  /^-----BEGIN PUBLIC KEY-----\n([A-Za-z0-9+/=\n]{1,300})\n-----END PUBLIC KEY-----\n$/

const missingKey: Fault = {
  code: 'key_missing',
  detail: `publicKeyPem is empty. Send the public key in PEM. To print it: ${commands.exportPublic}`,
}

function reject(faults: Fault[], repairs: Repair[] = [], key?: KeyDescription): Rejected {
  const [first, ...others] = faults
  if (first === undefined) throw new Error('a rejection without a fault')
  return { ok: false, faults: [first, ...others], normalised: repairs, ...(key && { key }) }
}

function rejectLongText(text: string): Rejected {
  if (containsSecret(text, maxTextLength)) return rejectPrivateKey(undefined)
  const detail = `The key text has ${text.length} characters; the maximum is ${maxTextLength}. A public key has at most 4 KB: send only the key.`
  return reject([{ code: 'key_too_large', detail }])
}

function rejectPrivateKey(exposed: Rejected['exposed']): Rejected {
  const detail = `This is a private key. It was not stored. Treat it as compromised: generate a new pair (${commands.generateRsa}), and send only its public key: ${commands.exportPublic}`
  return { ...reject([{ code: 'private_key_submitted', detail }]), ...(exposed && { exposed }) }
}

function examinePem(
  parsed: ParsedText,
  algorithm: Algorithm | undefined,
  blocklist: Blocklist,
): Verdict {
  const examination = examine(parsed)
  const { key, slowRules } = examination
  const allRepairs = [...parsed.repairs, ...(examination.repairs ?? [])]
  const quickFaults = [
    ...examination.faults,
    ...(key === undefined ? [] : checkBlocklist(key, blocklist)),
    ...(key === undefined ? [] : checkAlgorithm(key, algorithm)),
  ]
  const faults = withSlowRules(quickFaults, slowRules)
  if (faults.length > 0) return reject(faults, allRepairs, key && describe(key))
  if (key === undefined) throw new Error('a key without faults and without a JWK')
  crossCheck(key)
  return accept(key, algorithm, allRepairs, examination.warnings)
}

/** Checks the slow rules only if no other rejects the key; otherwise the first fault names them. */
function withSlowRules(faults: Fault[], slowRules: SlowRules | undefined): Fault[] {
  const [first, ...others] = faults
  if (slowRules === undefined) return faults
  if (first === undefined) return slowRules.check()
  return [{ ...first, skipped: [...slowRules.codes] }, ...others]
}

/** Reports invalid DER as a fault. Every other error is a bug and is rethrown. */
function examine({ pem, alg }: ParsedText): Examination {
  try {
    const examination = examineDer(pem.label, pem.der)
    const { key } = examination
    const algorithms = key?.algorithms.filter((each) => jwsAlgorithmOf(each) === alg) ?? []
    if (key === undefined || algorithms.length === 0) return examination
    return { ...examination, key: { ...key, name: `${key.name} for ${alg}`, algorithms } }
  } catch (error) {
    if (error instanceof DerError) return { faults: [{ code: error.code, detail: error.message }] }
    throw error
  }
}

function accept(
  key: ParsedKey,
  algorithm: Algorithm | undefined,
  repairs: Repair[],
  warnings: Fault[] = [],
): Verdict {
  const pinned = algorithm ?? key.algorithms[0]
  if (pinned === undefined) throw new Error(`no algorithm matches a key of the type ${key.name}`)
  return {
    ok: true,
    key: {
      ...describe(key),
      publicKeyPem: writePem(key.spki),
      jwk: key.jwk,
      materialSha256: sha256Hex(key.material),
    },
    jwsAlgorithm: jwsAlgorithmOf(pinned),
    normalised: repairs,
    warnings,
  }
}

function describe(key: ParsedKey): KeyDescription {
  return {
    kty: key.jwk.kty,
    ...(key.bits === undefined ? {} : { bits: key.bits }),
    ...(key.crv === undefined ? {} : { crv: key.crv }),
    thumbprint: thumbprintOf(key.jwk),
    spkiSha256: sha256Hex(key.spki),
    algorithms: [...key.algorithms],
  }
}

/** Block lists hash Edwards keys without leading zero bytes, so both hashes are checked. */
function checkBlocklist({ material }: ParsedKey, blocklist: Blocklist): Fault[] {
  const forms = material[0] === 0 ? [material, minimalBytes(toBigInt(material))] : [material]
  const hashes = forms.map(sha256Hex)
  if (!hashes.some((hash) => blocklist.has(hash))) return []
  const [document] = hashes.flatMap((hash) => publishedIn(hash) ?? [])
  const found = document === undefined ? 'was published or exposed' : `is published: ${document}`
  const detail = `The private key of this public key ${found}. Anyone can sign with it. Generate a new key pair; do not use keys from documentation or examples.`
  return [{ code: 'key_known_compromised', detail }]
}

/** Rejects an algorithm that the key cannot verify (RFC 8725 section 3.1). */
function checkAlgorithm(key: ParsedKey, algorithm: Algorithm | undefined): Fault[] {
  const { algorithms, name } = key
  if (algorithm === undefined || algorithms.length === 0 || algorithms.includes(algorithm))
    return []
  const detail = `algorithm is ${algorithm}, but the key is ${name}. Use one of: ${algorithms.join(', ')}.`
  return [{ code: 'algorithm_mismatch', detail }]
}
