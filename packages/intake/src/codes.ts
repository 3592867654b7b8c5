/** The `code` of the error response for a rejected key. */
type IntakeProblem =
  | 'invalid_key_pem'
  | 'private_key_submitted'
  | 'unsupported_key'
  | 'weak_key'
  | 'algorithm_mismatch'
  | 'compromised_key'

/**
 * Every reason to reject a key, by its stable code (`errors[0].code` of the error response), with the
 * `code` of that response. `docs/key-policy.md` says what exactly each rejects.
 */
export const intakeCodes = {
  // The submitted text and its PEM block (RFC 7468).
  key_missing: 'invalid_key_pem',
  key_too_large: 'invalid_key_pem',
  private_key_submitted: 'private_key_submitted',
  jwk_submitted: 'invalid_key_pem',
  ssh_key_submitted: 'invalid_key_pem',
  pgp_key_submitted: 'invalid_key_pem',
  certificate_submitted: 'invalid_key_pem',
  csr_submitted: 'invalid_key_pem',
  key_encoding_invalid: 'invalid_key_pem',
  pem_not_found: 'invalid_key_pem',
  pem_multiple_blocks: 'invalid_key_pem',
  pem_end_missing: 'invalid_key_pem',
  pem_label_mismatch: 'invalid_key_pem',
  pem_extra_text: 'invalid_key_pem',
  pem_headers_unsupported: 'invalid_key_pem',
  pem_base64_invalid: 'invalid_key_pem',
  pem_label_unsupported: 'invalid_key_pem',
  pem_label_content_mismatch: 'invalid_key_pem',
  // The DER of the key and its algorithm identifier (RFC 5280 section 4.1.2.7).
  spki_not_der: 'invalid_key_pem',
  spki_der_invalid: 'invalid_key_pem',
  spki_trailing_data: 'invalid_key_pem',
  spki_params_invalid: 'invalid_key_pem',
  key_type_unsupported: 'unsupported_key',
  key_agreement_only: 'unsupported_key',
  not_for_signatures: 'unsupported_key',
  algorithm_mismatch: 'algorithm_mismatch',
  // The numbers of an RSA key (RFC 8017 section 3.1).
  rsa_modulus_not_positive: 'weak_key',
  rsa_modulus_too_small: 'weak_key',
  rsa_modulus_too_large: 'unsupported_key',
  rsa_modulus_bits_unsupported: 'unsupported_key',
  rsa_modulus_even: 'weak_key',
  rsa_exponent_invalid: 'weak_key',
  rsa_exponent_too_small: 'weak_key',
  rsa_exponent_too_large: 'weak_key',
  rsa_small_factor: 'weak_key',
  rsa_modulus_power: 'weak_key',
  rsa_modulus_not_composite: 'weak_key',
  rsa_roca: 'weak_key',
  rsa_primes_too_close: 'weak_key',
  rsa_primes_related: 'weak_key',
  rsa_modulus_structured: 'weak_key',
  rsa_primes_smooth: 'weak_key',
  rsa_modulus_reused: 'weak_key',
  rsa_shared_prime: 'weak_key',
  rsa_pss_params_unusable: 'unsupported_key',
  // EC, Ed25519 and ML-DSA keys, and the block list.
  ec_curve_unsupported: 'unsupported_key',
  ec_explicit_parameters: 'unsupported_key',
  ec_point_format_unsupported: 'unsupported_key',
  ec_point_invalid: 'weak_key',
  ec_private_key_trivial: 'weak_key',
  key_known_compromised: 'compromised_key',
  okp_length_invalid: 'invalid_key_pem',
  okp_point_not_canonical: 'weak_key',
  okp_point_invalid: 'weak_key',
  okp_point_small_order: 'weak_key',
  okp_point_mixed_order: 'weak_key',
  okp_private_key_trivial: 'weak_key',
  akp_length_invalid: 'invalid_key_pem',
  akp_degenerate: 'weak_key',
  akp_private_key_trivial: 'weak_key',
} as const satisfies Record<string, IntakeProblem>

export type IntakeCode = keyof typeof intakeCodes
