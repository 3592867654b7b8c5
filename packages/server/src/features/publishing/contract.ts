import { jwsAlgorithmNames } from '@pubring/intake/algorithms'
import type { Static } from 'typebox'
import { component, Type, text } from '../../kernel/contract.ts'

const base64url = (description: string) =>
  Type.Optional(Type.String({ pattern: '^[A-Za-z0-9_-]+$', description }))

/** The members of a published key. */
export const jwkMembers = {
  kty: Type.Enum(['RSA', 'EC', 'OKP', 'AKP']),
  use: Type.Enum(['sig']),
  kid: text(
    'The id of the key, or its `publishedKid` where it has one.',
    '019ac8f2-6c1e-7d53-a1b0-5f0e4c9d2b71',
  ),
  n: base64url('RSA: the modulus, without leading zero bytes.'),
  e: base64url('RSA: the public exponent.'),
  crv: Type.Optional(Type.Enum(['P-256', 'P-384', 'P-521', 'Ed25519'])),
  x: base64url('EC: the coordinate at full length. OKP: the public key.'),
  y: base64url('EC: the coordinate at full length.'),
  pub: base64url('AKP (ML-DSA): the public key.'),
  alg: Type.Enum(jwsAlgorithmNames, {
    description: 'The only algorithm of the key.',
  }),
}

export const Jwks = component('Jwks', 'A key set (RFC 7517): active keys, oldest first.', {
  keys: Type.Array(Type.Object(jwkMembers)),
})
export type Jwks = Static<typeof Jwks>

export const Discovery = component(
  'Discovery',
  'The discovery document for verifiers (OpenID Connect Discovery 1.0).',
  {
    issuer: text(
      'The `iss` of the tokens: the URL of the project, with its id.',
      'https://keys.example.com/v1/projects/019ac8f2-6c1e-7d53-a1b0-5f0e4c9d2b71',
    ),
    jwks_uri: Type.String({
      examples: [
        'https://keys.example.com/v1/projects/019ac8f2-6c1e-7d53-a1b0-5f0e4c9d2b71/.well-known/jwks.json',
      ],
    }),
    response_types_supported: Type.Array(Type.String()),
    subject_types_supported: Type.Array(Type.String()),
    id_token_signing_alg_values_supported: Type.Array(Type.Enum(jwsAlgorithmNames), {
      description:
        'The algorithms that keys in `jwks_uri` may have, with or without such a key, because some verifiers read the list only once; and RS256, which the standard requires.',
    }),
  },
)
export type Discovery = Static<typeof Discovery>
