import { commands } from '../commands.ts'
import { expectBitString, expectElement, expectEnd, expectOid, tag } from '../encoding/der.ts'
import { agreementOids, nameOfUnsupported, oid } from '../encoding/oids.ts'
import type { PemLabel } from '../encoding/pem.ts'
import { isPoint } from '../formats/bare.ts'
import { adviseContent, contentOf } from '../formats/content.ts'
import type { Examination } from '../parsed-key.ts'
import type { Fault } from '../types.ts'
import { examineEc } from './ec.ts'
import { examineEd25519 } from './ed25519.ts'
import { examineMlDsa, mlDsaSets } from './ml-dsa.ts'
import { examinePkcs1, examineRsa, examineRsaPss } from './rsa.ts'

type ExamineKind = (parameters: Uint8Array, key: Uint8Array) => Examination

/** The supported kinds of keys by the object identifier in their SPKI. */
const kinds: ReadonlyMap<string, ExamineKind> = new Map<string, ExamineKind>([
  [oid.rsaEncryption, examineRsa],
  [oid.rsassaPss, examineRsaPss],
  [oid.ecPublicKey, examineEc],
  [oid.ed25519, examineEd25519],
  ...mlDsaSets.map((set): [string, ExamineKind] => [
    set.oid,
    (parameters, key) => examineMlDsa(set, parameters, key),
  ]),
])

/**
 * Examines the content of a PEM block: a SubjectPublicKeyInfo (RFC 5280 section 4.1) or a PKCS#1
 * RSAPublicKey, as its label says. Throws a DerError if it is not strict DER.
 */
export function examineDer(label: PemLabel, der: Uint8Array): Examination {
  const mismatch = checkContent(label, der)
  if (mismatch !== undefined) return { faults: [mismatch] }
  if (label === 'RSA PUBLIC KEY') return examinePkcs1(der)
  const outer = expectElement(der, tag.sequence, 'the public key')
  expectEnd(outer.rest, 'the public key')
  const algorithm = expectElement(outer.content, tag.sequence, 'the algorithm identifier')
  const name = expectOid(algorithm.content, 'the object identifier of the algorithm')
  const key = expectBitString(algorithm.rest, 'the BIT STRING of the key')
  expectEnd(key.rest, 'the BIT STRING of the key')
  const examine = kinds.get(name.oid)
  if (examine === undefined) return { faults: [unsupportedKind(name.oid)] }
  return examine(name.rest, key.content)
}

function unsupportedKind(dotted: string): Fault {
  const agreement = agreementOids.get(dotted)
  if (agreement !== undefined) {
    const detail = `${agreement} keys are for key agreement and cannot sign. Use RSA, EC P-256 or Ed25519.`
    return { code: 'key_agreement_only', detail }
  }
  const detail = `The key type ${nameOfUnsupported(dotted)} is not supported. Use RSA (rsaEncryption), EC P-256, P-384 or P-521, Ed25519 or ML-DSA.`
  return { code: 'key_type_unsupported', detail }
}

function checkContent(label: PemLabel, der: Uint8Array): Fault | undefined {
  const bare = isPoint(der)
    ? 'a bare EC point'
    : der.length === 32 && '32 bytes without a structure, such as a bare Ed25519 key'
  if (bare !== false) {
    const detail = `The label is ${label}, but the content is ${bare}. Export the public key: ${commands.exportPublic}`
    return { code: 'pem_label_content_mismatch', detail }
  }
  const content = contentOf(der)
  if (content === undefined || content === label) return undefined
  const detail = `The label is ${label}, but the content is ${adviseContent(content)}`
  return { code: 'pem_label_content_mismatch', detail }
}
