import { describe, expect, test } from 'vitest'
import { intakeCodes } from '../../packages/intake/src/codes.ts'
import { examine, fixture } from '../support/keys/intake.ts'

interface Case {
  file: string
  expect: 'accept' | 'reject'
  code: string
  why: string
  alg?: string
  kty?: string
  crv?: string
  normalised?: boolean
  /** A key that must be registered first; alone, this one is accepted. */
  after?: string
}

const cases: Case[] = JSON.parse(fixture('keys/manifest.json'))

/** The problem code of each fault, stated independently of the table. */
const problems: Record<string, string[]> = {
  private_key_submitted: ['private_key_submitted'],
  algorithm_mismatch: ['algorithm_mismatch'],
  compromised_key: ['key_known_compromised'],
  unsupported_key: [
    'key_type_unsupported',
    'key_agreement_only',
    'not_for_signatures',
    'ec_curve_unsupported',
    'ec_explicit_parameters',
    'ec_point_format_unsupported',
    'rsa_modulus_too_large',
    'rsa_modulus_bits_unsupported',
    'rsa_pss_params_unusable',
  ],
  invalid_key_pem: [
    'key_missing',
    'key_too_large',
    'jwk_submitted',
    'ssh_key_submitted',
    'pgp_key_submitted',
    'certificate_submitted',
    'csr_submitted',
    'key_encoding_invalid',
    'pem_not_found',
    'pem_multiple_blocks',
    'pem_end_missing',
    'pem_label_mismatch',
    'pem_extra_text',
    'pem_headers_unsupported',
    'pem_base64_invalid',
    'pem_label_unsupported',
    'pem_label_content_mismatch',
    'spki_not_der',
    'spki_der_invalid',
    'spki_trailing_data',
    'spki_params_invalid',
    'okp_length_invalid',
    'akp_length_invalid',
  ],
}

test.each(Object.entries(intakeCodes))('%s has the right problem code', (code, problem) => {
  const expected = Object.entries(problems).find(([, codes]) => codes.includes(code))?.[0]
  expect(problem).toBe(expected ?? 'weak_key')
})

describe('accepted', () => {
  const good = cases.filter(({ expect: verdict, after }) => verdict === 'accept' || after)
  test.each(good)('$file: $why', (each) => {
    const verdict = examine(fixture(`keys/${each.file}`))
    if (!verdict.ok) throw new Error(JSON.stringify(verdict.faults))
    if (each.alg !== undefined) expect(verdict.jwsAlgorithm).toBe(each.alg)
    if (each.kty !== undefined) expect(verdict.key.kty).toBe(each.kty)
    if (each.crv !== undefined) expect(verdict.key.crv).toBe(each.crv)
    expect(verdict.normalised.length > 0).toBe(each.normalised === true)
    expect(verdict.key.publicKeyPem).toMatch(
      /^-----BEGIN PUBLIC KEY-----\n([A-Za-z0-9+/]{64}\n)*[A-Za-z0-9+/=]{1,64}\n-----END PUBLIC KEY-----\n$/,
    )
  })
})

describe('rejected', () => {
  const bad = cases.filter(({ expect: verdict, after }) => verdict === 'reject' && !after)
  test.each(bad)('$file: $code, $why', (each) => {
    const text = fixture(`keys/${each.file}`)
    const verdict = examine(text)
    if (verdict.ok) throw new Error('accepted')
    const [first] = verdict.faults
    expect(verdict.faults.map(({ code }) => code)[0]).toBe(each.code)
    expect(intakeCodes[first.code]).toMatch(/^[a-z_]+$/)
    expect(first.detail).toMatch(/^[A-Za-z0-9].{15,}[^ ]$/)
    const body = text.replace(/-----[^-]*-----/g, '').replace(/\s+/g, '')
    for (const { detail } of verdict.faults) {
      const parts = Array.from(detail, (_, at) => detail.slice(at, at + 24))
      expect(parts.filter((part) => part.length === 24 && body.includes(part))).toEqual([])
    }
  })
})
