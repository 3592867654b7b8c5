import { createHash, createPublicKey } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { accepted, codeOf, derOf, fixture, pem } from '../../support/keys/intake.ts'

const rsa = fixture('material/rsa2048.pem')
const lines = (text: string, width: number) =>
  derOf(text)
    .toString('base64')
    .replace(new RegExp(`.{${width}}`, 'g'), '$&\n')

describe('every variant of one key has the same canonical form', () => {
  const expected = accepted(rsa)
  const pkcs1 = createPublicKey({ key: derOf(rsa), format: 'der', type: 'spki' }).export({
    type: 'pkcs1',
    format: 'pem',
  })
  const variants: Record<string, [string, string[]]> = {
    'as openssl writes it': [rsa, []],
    BOM: [`\uFEFF${rsa}`, ['bom']],
    CRLF: [rsa.replaceAll('\n', '\r\n'), ['line_breaks']],
    CR: [rsa.replaceAll('\n', '\r'), ['line_breaks']],
    'CRLF and LF mixed': [rsa.replace('\n', '\r\n'), ['line_breaks']],
    indented: [rsa.replaceAll(/^(?=.)/gm, '    '), ['white_space']],
    'tab-indented': [rsa.replaceAll(/^(?=.)/gm, '\t'), ['white_space']],
    'trailing blanks': [rsa.replaceAll('\n', '  \t\n'), ['white_space']],
    'double-spaced': [rsa.replaceAll('\n', '\n\n'), ['white_space']],
    'white space around': [`\n\n  ${rsa}\n\n`, ['white_space']],
    'no final line break': [rsa.trimEnd(), ['line_breaks']],
    'blanks for line breaks': [rsa.trimEnd().replaceAll('\n', ' '), ['line_breaks']],
    'no line breaks': [rsa.replaceAll('\n', ''), ['line_breaks', 'line_width']],
    'body on one line': [pem(derOf(rsa)).replace(/(?<=[\w+/=])\n(?=[\w+/=])/g, ''), ['line_width']],
    'body folded with blanks': [rsa.replace(/(?<=[\w+/=])\n(?=[\w+/=])/g, ' '), ['line_breaks']],
    '76 columns': [
      `-----BEGIN PUBLIC KEY-----\n${lines(rsa, 76)}\n-----END PUBLIC KEY-----\n`,
      ['line_width'],
    ],
    'escaped \\n': [rsa.replaceAll('\n', '\\n'), ['line_breaks', 'escaped_line_breaks']],
    'escaped \\n with a final line break': [
      `${rsa.replaceAll('\n', '\\n')}\n`,
      ['escaped_line_breaks'],
    ],
    'escaped \\r\\n': [rsa.replaceAll('\n', '\\r\\n'), ['line_breaks', 'escaped_line_breaks']],
    'a JSON string': [JSON.stringify(rsa), ['line_breaks', 'escaped_line_breaks', 'quotes']],
    'quoted with real line breaks': [`"${rsa}"\n`, ['quotes']],
    'PKCS#1': [pkcs1.toString(), ['pkcs1']],
    'PKCS#1, CRLF': [pkcs1.toString().replaceAll('\n', '\r\n'), ['line_breaks', 'pkcs1']],
  }

  test.each(Object.entries(variants))('%s', (_name, [text, repairs]) => {
    const { key, ...verdict } = accepted(text)
    expect(key).toEqual(expected.key)
    expect(new Set(verdict.normalised)).toEqual(new Set(repairs))
  })

  test.each([
    't_crlf.pem',
    't_cr_only.pem',
    't_no_final_newline.pem',
    't_trailing_spaces.pem',
    't_single_long_body.pem',
    't_indented.pem',
    't_blank_lines.pem',
    't_one_line_spaces.pem',
    't_one_line_glued.pem',
    't_escaped_newlines.pem',
    't_quoted.pem',
    'rsa_pkcs1.pem',
  ])('%s', (file) => {
    const verdict = accepted(fixture(`material/${file}`))
    expect(verdict.key).toEqual(expected.key)
    expect(verdict.normalised).not.toEqual([])
  })

  test('the returned PEM needs no repairs', () => {
    const { key } = expected
    expect(key.publicKeyPem).toBe(rsa)
    expect(accepted(key.publicKeyPem).normalised).toEqual([])
    expect(key.spkiSha256).toBe(createHash('sha256').update(derOf(rsa)).digest('hex'))
  })
})

test('a compressed point is converted to the same key', () => {
  const whole = accepted(fixture('material/ec_p384.pem'))
  const { x, y } = whole.key.jwk.kty === 'EC' ? whole.key.jwk : { x: '', y: '' }
  const sign = (Buffer.from(y, 'base64url').at(-1) ?? 0) & 1
  const point = Buffer.concat([Uint8Array.of(2 + sign), Buffer.from(x, 'base64url')])
  const header = derOf(fixture('material/ec_p384.pem')).subarray(2, 20)
  const body = Buffer.concat([header, Uint8Array.of(3, point.length + 1, 0), point])
  const compressed = accepted(pem(Buffer.concat([Uint8Array.of(0x30, body.length), body])))
  expect(compressed.key).toEqual(whole.key)
  expect(compressed.normalised).toEqual(['compressed_point'])
})

describe('a text that lost information is not repaired', () => {
  test.each([
    ['t_plus_became_space.pem', 'pem_base64_invalid'],
    ['t_body_base64url.pem', 'pem_base64_invalid'],
    ['t_leading_text.pem', 'pem_extra_text'],
    ['t_trailing_text.pem', 'pem_extra_text'],
    ['t_brackets.pem', 'pem_extra_text'],
    ['t_six_dashes.pem', 'pem_not_found'],
    ['t_four_dashes.pem', 'pem_not_found'],
    ['t_lowercase_label.pem', 'pem_not_found'],
    ['t_truncated.pem', 'pem_end_missing'],
    ['t_missing_footer.pem', 'pem_end_missing'],
    ['t_nul.pem', 'key_encoding_invalid'],
    ['t_two_same.pem', 'pem_multiple_blocks'],
    ['t_two_different.pem', 'pem_multiple_blocks'],
    ['t_base64_of_pem.txt', 'pem_not_found'],
    ['t_bare_base64_der.txt', 'pem_not_found'],
    ['t_128k_comment.pem', 'key_too_large'],
    ['cert_valid.pem', 'certificate_submitted'],
    ['cert_expired.pem', 'certificate_submitted'],
    ['cert_chain.pem', 'certificate_submitted'],
    ['ssh_rsa.pub', 'ssh_key_submitted'],
    ['ssh2_rfc4716.pub', 'ssh_key_submitted'],
    ['jwk_instead.json', 'jwk_submitted'],
    ['private_pkcs1.pem', 'private_key_submitted'],
    ['private_pkcs8.pem', 'private_key_submitted'],
    ['private_pkcs8_encrypted.pem', 'private_key_submitted'],
    ['private_sec1_with_params.pem', 'private_key_submitted'],
    ['rsa1024.pem', 'rsa_modulus_too_small'],
    ['rsa16384.pem', 'rsa_modulus_too_large'],
    ['rsa32768.pem', 'rsa_modulus_too_large'],
    ['rsa_e1.pem', 'rsa_exponent_invalid'],
    ['rsa_e2_even.pem', 'rsa_exponent_invalid'],
    ['rsa_e3.pem', 'rsa_exponent_too_small'],
    ['rsa_even_modulus.pem', 'rsa_modulus_even'],
    ['dsa2048.pem', 'key_type_unsupported'],
    ['ed448.pem', 'key_type_unsupported'],
    ['x25519.pem', 'key_agreement_only'],
    ['ec_secp256k1.pem', 'ec_curve_unsupported'],
    ['ec_p224.pem', 'ec_curve_unsupported'],
    ['ec_brainpool256.pem', 'ec_curve_unsupported'],
    ['ec_p256_off_curve.pem', 'ec_point_invalid'],
  ])('%s: %s', (file, code) => {
    expect(codeOf(fixture(`material/${file}`))).toBe(code)
  })
})
