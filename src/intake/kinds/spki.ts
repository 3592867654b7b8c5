import { expectBitString, expectElement, expectEnd, expectOid, tag } from '../encoding/der.ts'
import { agreementOids, nameOfUnsupported, oid } from '../encoding/oids.ts'
import type { PemLabel } from '../encoding/pem.ts'
import { fault } from '../fault.ts'
import type { Examination } from '../parsed-key.ts'
import type { Fault } from '../types.ts'
import { examineEc } from './ec.ts'
import { examineEd25519 } from './ed25519.ts'
import { examineMlDsa } from './ml-dsa.ts'
import { mlDsaSets } from './ml-dsa-sets.ts'
import { examinePkcs1, examineRsa, examineRsaPss } from './rsa.ts'

type ExamineKind = (parameters: Uint8Array, key: Uint8Array) => Examination

/** Each kind of key that is taken, by the identifier in its SPKI. */
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
 * RSAPublicKey, as its label says. Throws a DerError for what is not strict DER.
 */
export function examineDer(label: PemLabel, der: Uint8Array): Examination {
  const mismatch = checkContent(label, der)
  if (mismatch !== undefined) return { faults: [mismatch] }
  if (label === 'RSA PUBLIC KEY') return examinePkcs1(der)
  const outer = expectElement(der, tag.sequence, 'the public key')
  expectEnd(outer.rest, 'the public key')
  const algorithm = expectElement(outer.content, tag.sequence, 'the algorithm identifier')
  const name = expectOid(algorithm.content, 'the name of the algorithm')
  const key = expectBitString(algorithm.rest, 'the key itself')
  expectEnd(key.rest, 'the key itself')
  const examine = kinds.get(name.oid)
  if (examine === undefined) return { faults: [refuseKind(name.oid)] }
  return examine(name.rest, key.content)
}

function refuseKind(dotted: string): Fault {
  const agreement = agreementOids.get(dotted)
  if (agreement !== undefined) {
    const detail = `${agreement} keys encrypt or agree on secrets; they cannot sign. Use RSA, EC P-256 or Ed25519.`
    return fault('key_agreement_only', detail)
  }
  const name = nameOfUnsupported(dotted)
  const detail = `Keys of the kind ${name} cannot be used for JWTs here. Use RSA (rsaEncryption), EC P-256, P-384 or P-521, Ed25519 or ML-DSA.`
  return fault('key_type_unsupported', detail)
}

type Content = PemLabel | 'certificate' | 'PKCS#7'

const contentNames: Readonly<Record<Content, string>> = {
  'PUBLIC KEY': 'an SPKI public key (PUBLIC KEY)',
  'RSA PUBLIC KEY': 'a PKCS#1 RSA key (RSA PUBLIC KEY)',
  certificate: 'a certificate or a certificate request',
  'PKCS#7': 'a PKCS#7 bundle',
}

const contentAdvice: Readonly<Record<Content, string>> = {
  'PUBLIC KEY': 'Change the label to PUBLIC KEY.',
  'RSA PUBLIC KEY':
    'Change the label to RSA PUBLIC KEY, or convert: openssl rsa -RSAPublicKey_in -in key.pem -pubout',
  certificate: 'Send its public key: openssl x509 -in cert.pem -pubkey -noout',
  'PKCS#7': 'Send the public key alone: openssl pkey -in private.pem -pubout',
}

function checkContent(label: PemLabel, der: Uint8Array): Fault | undefined {
  const content = contentOf(der)
  if (content === undefined || content === label) return undefined
  const detail = `The label says ${label} but the content is ${contentNames[content]}. ${contentAdvice[content]}`
  return fault('pem_label_content_mismatch', detail)
}

/** What the first inner tags say; the strict reader says whether it is well formed. */
function contentOf(der: Uint8Array): Content | undefined {
  const outer = contentTagged(der, tag.sequence)
  if (outer === undefined) return undefined
  if (outer[0] === tag.integer) return 'RSA PUBLIC KEY'
  if (outer[0] === tag.oid) return 'PKCS#7'
  const inner = contentTagged(outer, tag.sequence)
  if (inner?.[0] === tag.oid) return 'PUBLIC KEY'
  return inner?.[0] === 0xa0 || inner?.[0] === tag.integer ? 'certificate' : undefined
}

/** The content after a header of any form, BER too: enough to see what follows it. */
function contentTagged(bytes: Uint8Array, wanted: number): Uint8Array | undefined {
  const [first, second] = bytes
  if (first !== wanted || second === undefined) return undefined
  return bytes.subarray(second < 0x80 ? 2 : 2 + (second & 0x7f))
}
