import type { TokenCheckReason, TokenCheckStep } from '../../../../client/src/index.ts'

/** The steps of a check in their order, and what each of them makes sure of. */
export const steps: Record<TokenCheckStep, string> = {
  well_formed: 'It is a JWT',
  kid_present: 'It names a key (kid)',
  kid_known: 'The key is of this project',
  key_active: 'The key is active',
  algorithm: 'The algorithm is the key’s',
  signature: 'The signature is right',
  exp: 'It has not expired (exp)',
  nbf: 'It is valid already (nbf)',
  iss: 'The issuer is the wanted one (iss)',
  aud: 'The audience is the wanted one (aud)',
}

/** What is wrong, in a headline, and what to do about it. */
export const advice: Record<TokenCheckReason, { title: string; todo: string }> = {
  malformed_token: {
    title: 'This is not a whole JWT',
    todo: 'Copy all of it, without “Bearer” and without line breaks inside.',
  },
  kid_missing: {
    title: 'The token names no key',
    todo: 'Let the signer write the kid of its key into the header of every token: verifiers find the key by it.',
  },
  kid_unknown: {
    title: 'This project has no such key',
    todo: 'Compare the kid with those under “Keys”: it may be of another project, of a deleted key, or the signer’s own name for it.',
  },
  key_inactive: {
    title: 'The key is switched off or has expired',
    todo: 'Let the signer use an active key. If the key was switched off by mistake, switch it on again under “Keys”.',
  },
  algorithm_mismatch: {
    title: 'The token was signed by another algorithm than its key’s',
    todo: 'Let the signer use the one algorithm that the key was registered with. To change it, register a new key.',
  },
  signature_invalid: {
    title: 'The signature does not fit',
    todo: 'The token was changed on the way, or signed with another private key than the kid names. Compare the public half of the signer’s key with the one that is registered.',
  },
  token_expired: {
    title: 'The token has expired',
    todo: 'Get a new one. If it should be valid still, compare the clock of the signer with this one.',
  },
  token_not_yet_valid: {
    title: 'The token is not valid yet',
    todo: 'Wait, or compare the clock of the signer with this one: a few seconds apart are enough.',
  },
  issuer_mismatch: {
    title: 'The token is of another issuer',
    todo: 'Let the signer write the wanted issuer into iss, letter by letter, or let the verifier expect the one that it writes.',
  },
  audience_mismatch: {
    title: 'The token is for somebody else',
    todo: 'Ask for a token with the wanted aud, or correct what the verifier expects.',
  },
}
