import type { TokenCheckReason, TokenCheckStep } from '@pubring/client'

/** Says what each step of a token check verifies, in order. */
export const steps: Record<TokenCheckStep, string> = {
  well_formed: 'The token is a JWT',
  kid_present: 'The token has a kid',
  kid_known: 'The key belongs to this project',
  key_active: 'The key is active',
  algorithm: 'The algorithm is the key’s',
  signature: 'The signature is valid',
  exp: 'The token has not expired (exp)',
  nbf: 'The token is already valid (nbf)',
  iss: 'The issuer is the expected one (iss)',
  aud: 'The audience is the expected one (aud)',
}

/** Says what is wrong, and what to do about it. */
export const advice: Record<TokenCheckReason, { title: string; action: string }> = {
  malformed_token: {
    title: 'This is not a complete JWT',
    action: 'Copy the whole token and nothing else. The failed step says what is wrong.',
  },
  kid_missing: {
    title: 'The token has no kid',
    action:
      'Have the signer set the kid of its key in the header of every token: verifiers use it to find the key.',
  },
  kid_unknown: {
    title: 'This project has no key with this kid',
    action:
      'Have the signer use the kid of its key, as shown under “Keys”. The failed step says what this kid is, and which key the signature fits.',
  },
  key_inactive: {
    title: 'The key is inactive or has expired',
    action:
      'Have the signer use an active key. If the key was deactivated by mistake, activate it again under “Keys”.',
  },
  algorithm_mismatch: {
    title: 'The token was signed with another algorithm than its key’s',
    action:
      'Have the signer use the algorithm that the key was registered with. To change it, register a new key.',
  },
  signature_invalid: {
    title: 'The signature is invalid',
    action:
      'The token was modified, or signed with another private key than the one its kid names. Compare the signer’s public key with the registered one.',
  },
  token_expired: {
    title: 'The token has expired',
    action:
      'Get a new token. If it should still be valid, compare the signer’s clock with this one.',
  },
  token_not_yet_valid: {
    title: 'The token is not valid yet',
    action: 'Wait, or compare the signer’s clock with this one: a difference of seconds is enough.',
  },
  issuer_mismatch: {
    title: 'The token has another issuer',
    action:
      'Have the signer set iss to exactly the expected issuer. If your verifiers expect another one, enter it above.',
  },
  audience_mismatch: {
    title: 'The token is for another audience',
    action: 'Get a token with the expected aud, or correct what you expect.',
  },
}
