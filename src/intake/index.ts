import type { Algorithm } from '../contract/algorithms.ts'
import { checkAlgorithm, jwsAlgorithmOf } from './algorithms.ts'
import type { Blocklist } from './blocklists/blocklist.ts'
import { crossCheck } from './cross-check.ts'
import { minimalBytes, toBigInt } from './encoding/bytes.ts'
import { DerError } from './encoding/der.ts'
import { sha256Hex, thumbprintOf } from './encoding/jwk.ts'
import { type Pem, readPem, writePem } from './encoding/pem.ts'
import { checkCharacters, isBlank, MAX_TEXT_LENGTH } from './encoding/text.ts'
import { deriveExposedKey } from './exposed/derive.ts'
import { fault } from './fault.ts'
import { examineDer } from './kinds/spki.ts'
import type { Examination, ParsedKey } from './parsed-key.ts'
import { containsSecret, findSecret, type SecretFinding } from './secrets/detector.ts'
import type { Fault, KeyDescription, Rejected, Repair, Verdict } from './types.ts'
import { detectWrongKind } from './wrong-kind.ts'

/**
 * Examines the text of one public key: reads it with our own strict readers, checks its numbers,
 * and gives the canonical key or every independent reason to refuse it. Pure and synchronous; an
 * RSA key takes 5 to 300 ms, so a server calls it in a worker.
 *
 * @param algorithm what the key is to be pinned to; undefined pins it to its usual one.
 * @param maxLength UTF-16 units of text that are looked at.
 * @throws Error where the platform reads the canonical DER differently; never for bad input.
 */
export function examineKey(
  text: string,
  algorithm: Algorithm | undefined,
  blocklist: Blocklist,
  maxLength = MAX_TEXT_LENGTH,
): Verdict {
  const step = readText(text, maxLength)
  if ('refused' in step) return step.refused
  if ('secret' in step) return refusePrivateKey(deriveExposedKey(step.secret))
  return examinePem(step.pem, step.normalised, algorithm, blocklist)
}

/**
 * The same for what costs less than 2 ms, so that it may run on the event loop: short texts that
 * hold neither an RSA key nor a private one. Undefined means: examine it in a worker.
 */
export function examineCheaply(
  text: string,
  algorithm: Algorithm | undefined,
  blocklist: Blocklist,
  maxLength = MAX_TEXT_LENGTH,
): Verdict | undefined {
  if (text.length > MAX_CHEAP_LENGTH) {
    return text.length > maxLength ? refuseLargeText(text, maxLength) : undefined
  }
  const step = readText(text, maxLength)
  if ('refused' in step) return step.refused
  if ('secret' in step || step.pem.der.length > MAX_CHEAP_BYTES) return undefined
  return examinePem(step.pem, step.normalised, algorithm, blocklist)
}

/** A P-521 key in PEM has 268 characters; indented or with CRLF some more. */
const MAX_CHEAP_LENGTH = 400
/** A P-521 SPKI has 158 bytes, the shortest RSA key whose numbers are examined more. */
const MAX_CHEAP_BYTES = 160

const missing =
  'publicKeyPem is empty. Send the public key as PEM: openssl pkey -in private.pem -pubout prints it.'

type Step =
  | { refused: Rejected }
  | { secret: SecretFinding }
  | { pem: Pem; normalised: ReadonlySet<Repair> }

function readText(text: string, maxLength: number): Step {
  if (text.length > maxLength) return { refused: refuseLargeText(text, maxLength) }
  if (isBlank(text)) return refuse([fault('key_missing', missing)])
  const secret = findSecret(text)
  if (secret !== undefined) return { secret }
  const wrongKind = detectWrongKind(text)
  if (wrongKind !== undefined) return refuse([wrongKind])
  const characters = checkCharacters(text)
  if (characters.length > 0) return refuse(characters)
  const { pem, faults, normalised } = readPem(text)
  return pem === undefined ? refuse(faults, normalised) : { pem, normalised }
}

function refuse(faults: Fault[], normalised?: ReadonlySet<Repair>): { refused: Rejected } {
  return { refused: refusal(faults, [...(normalised ?? [])]) }
}

function refusal(faults: Fault[], normalised: Repair[], key?: KeyDescription): Rejected {
  const [first, ...others] = faults
  if (first === undefined) throw new Error('a refusal without a fault')
  return { ok: false, faults: [first, ...others], normalised, ...(key && { key }) }
}

function refuseLargeText(text: string, maxLength: number): Rejected {
  if (containsSecret(text, maxLength)) return refusePrivateKey(undefined)
  const detail = `The key text has ${text.length} characters; at most ${maxLength} are read. A public key is at most 4 KB: send the key alone.`
  return refusal([fault('key_too_large', detail)], [])
}

function refusePrivateKey(exposed: Rejected['exposed']): Rejected {
  const detail =
    'This contains a private key. It was not stored. Treat that key as compromised: make a new pair and send only the public part (openssl pkey -in key.pem -pubout).'
  const refused = refusal([fault('private_key_submitted', detail)], [])
  return { ...refused, ...(exposed && { exposed }) }
}

function examinePem(
  pem: Pem,
  repairs: ReadonlySet<Repair>,
  algorithm: Algorithm | undefined,
  blocklist: Blocklist,
): Verdict {
  const examination = examine(pem)
  const { key } = examination
  const normalised = [...repairs, ...(examination.normalised ?? [])]
  const faults = [...examination.faults]
  if (key !== undefined) {
    if (faults.length === 0) crossCheck(key)
    faults.push(...checkBlocklist(key, blocklist), ...checkAlgorithm(key, algorithm))
  }
  if (key === undefined || faults.length > 0) {
    return refusal(faults, normalised, key && describe(key))
  }
  return accept(key, algorithm, normalised)
}

/** Damaged DER is the caller's fault; every other error is ours. */
function examine(pem: Pem): Examination {
  try {
    return examineDer(pem.label, pem.der)
  } catch (error) {
    if (error instanceof DerError) return { faults: [fault(error.code, error.message)] }
    throw error
  }
}

function accept(key: ParsedKey, algorithm: Algorithm | undefined, normalised: Repair[]): Verdict {
  const pinned = algorithm ?? key.algorithms[0]
  if (pinned === undefined) throw new Error(`no algorithm fits a key of the kind ${key.name}`)
  return {
    ok: true,
    key: {
      ...describe(key),
      publicKeyPem: writePem(key.spki),
      jwk: key.jwk,
      materialSha256: sha256Hex(key.material),
    },
    jwsAlgorithm: jwsAlgorithmOf(pinned),
    normalised,
    warnings: [],
  }
}

function describe(key: ParsedKey): KeyDescription {
  return {
    kty: key.jwk.kty,
    ...(key.bits !== undefined && { bits: key.bits }),
    ...(key.crv !== undefined && { crv: key.crv }),
    thumbprint: thumbprintOf(key.jwk),
    spkiSha256: sha256Hex(key.spki),
    algorithms: [...key.algorithms],
  }
}

/** Block lists hash Edwards keys without their leading zero bytes, so both hashes are asked. */
function checkBlocklist({ material }: ParsedKey, blocklist: Blocklist): Fault[] {
  const forms = material[0] === 0 ? [material, minimalBytes(toBigInt(material))] : [material]
  if (!forms.some((bytes) => blocklist.has(sha256Hex(bytes)))) return []
  const detail =
    'The private key of this public key is published or was exposed; anyone can sign with it. Make a new pair, and use no key from documentation or examples.'
  return [fault('key_known_compromised', detail)]
}
