import type { IntakeRule } from './rule.ts'

/** Rules for the DER of the key and its algorithm identifier (RFC 5280 section 4.1.2.7). */
export const derCodes = {
  spki_not_der: {
    rule: 'D1',
    problem: 'invalid_key_pem',
    title: 'The key is encoded in BER, not DER',
    rejects:
      'Lengths not in the shortest form, indefinite lengths, constructed strings, INTEGERs with redundant bytes, and padded OID arcs.',
    why: 'DER has one encoding per key; parsers differ in how they read any other.',
    sources: ['X.690 sections 8.19 and 10.1', 'RFC 5280 section 4.1'],
  },
  spki_der_invalid: {
    rule: 'D2',
    problem: 'invalid_key_pem',
    title: 'The DER is invalid',
    rejects:
      'Wrong tags, lengths past the end or of more than four bytes, unused bits in the BIT STRING, and a NULL with content.',
    why: 'The key was cut off or altered.',
    sources: ['X.690', 'RFC 5280 section 4.1.2.7'],
  },
  spki_trailing_data: {
    rule: 'D3',
    problem: 'invalid_key_pem',
    title: 'Data follows the key',
    rejects: 'Bytes after the key, inside or outside its structures.',
    why: 'A second key can hide there, and parsers differ in which one they use.',
    sources: ['RFC 5280 section 4.1.2.7', 'RFC 8017 A.1.1'],
  },
  spki_params_invalid: {
    rule: 'D4',
    problem: 'invalid_key_pem',
    title: 'The algorithm parameters are invalid',
    rejects:
      'rsaEncryption without NULL, EC without a curve, Ed25519 or ML-DSA with parameters, and id-RSASSA-PSS with anything but a well-formed SEQUENCE.',
    why: 'Each algorithm allows one form, and strict parsers reject the others.',
    sources: ['RFC 3279 2.3.1', 'RFC 4055 1.2', 'RFC 5480', 'RFC 8410 section 3', 'RFC 9881'],
  },
  key_type_unsupported: {
    rule: 'D5',
    problem: 'unsupported_key',
    title: 'The key type is not supported',
    rejects: 'DSA, DH, Ed448, RSAES-OAEP, SM2, GOST, SLH-DSA, signature identifiers, unknown OIDs.',
    why: 'Common verifiers cannot load the key, and one unknown entry can make a whole key set unusable.',
    sources: ['RFC 7518 section 3.1', 'RFC 9864', 'RFC 9964'],
  },
  key_agreement_only: {
    rule: 'D6',
    problem: 'unsupported_key',
    title: 'The key cannot sign',
    rejects: 'X25519, X448 and ML-KEM keys.',
    why: 'They are for key agreement and encryption only.',
    sources: ['RFC 7748', 'RFC 8410 section 3', 'FIPS 203'],
  },
  algorithm_mismatch: {
    rule: 'D7',
    problem: 'algorithm_mismatch',
    title: 'The algorithm does not match the key',
    rejects: 'An algorithm that the key cannot verify.',
    why: 'Every token would fail, or the key would be used in a way that its owner did not allow.',
    sources: ['RFC 8725 section 3.1', 'RFC 7518 section 3.1'],
  },
} as const satisfies Record<string, IntakeRule>
