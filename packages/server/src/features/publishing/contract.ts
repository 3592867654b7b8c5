import { jwsAlgorithmNames } from '@pubring/intake/algorithms'
import type { Static } from 'typebox'
import { component, described, Time, Type, text, Uuid } from '../../kernel/contract.ts'
import { endReasons } from '../keys/contract.ts'

const base64url = (description: string) =>
  Type.Optional(Type.String({ pattern: '^[A-Za-z0-9_-]+$', description }))

const jwkMembers = {
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

const seconds = (description: string) =>
  Type.Integer({ description: `${description} In seconds since 1970.`, examples: [1_790_000_000] })

const lifeMembers = {
  active_from: seconds('When the key was first active.'),
  inactive: Type.Optional(
    Type.Array(
      Type.Object({ from: seconds('The first second.'), until: seconds('The second after it.') }),
      {
        description:
          'The times between its activations when it was not active: at most 100, of which the first may join several, with what lies between them.',
      },
    ),
  ),
  exp: Type.Optional(
    seconds('The end: when it was deactivated, or its `expireTime`, which may lie ahead.'),
  ),
  revoked: Type.Optional(
    Type.Object(
      {
        revoked_at: seconds('`exp`, or when the key was found compromised, if that was earlier.'),
        reason: Type.Enum([...endReasons], { examples: ['superseded'] }),
      },
      {
        description:
          'Unless the key just expired. A `compromised` key is to be trusted at no time: a thief can date a token back.',
      },
    ),
  ),
}

export const KeyHistory = component(
  'KeyHistory',
  'The keys of a project that were ever active, and when. A second counts only if the key was active during all of it.',
  {
    iss: text(
      'The issuer of the project.',
      'https://keys.example.com/v1/projects/019ac8f2-6c1e-7d53-a1b0-5f0e4c9d2b71',
    ),
    ledgerId: Uuid,
    revision: Type.Integer({ description: 'The last event that it accounts for.' }),
    head: text('Hash of that event: `ledger-proof` shows that the log has it.'),
    keys: Type.Array(
      Type.Object({
        ...jwkMembers,
        iat: seconds('When the key was registered.'),
        ...lifeMembers,
      }),
      { description: 'Oldest first.' },
    ),
    deleted: Type.Array(
      Type.Object({
        kid: jwkMembers.kid,
        thumbprint: text('RFC 7638, SHA-256, base64url.'),
        ...lifeMembers,
        deleted_at: seconds('When it was deleted.'),
      }),
      { description: 'The last 1,000 that were deleted, in the order of their deletion.' },
    ),
  },
)
export type KeyHistory = Static<typeof KeyHistory>

export const Verifiers = component(
  'Verifiers',
  'Who has fetched the key set of a project, as seen by one replica.',
  {
    since: described(Time, 'Fetches before are not known: the replica started, or had too many.'),
    verifiers: Type.Array(
      Type.Object({
        userAgent: text(
          'What the client calls itself, up to 200 characters; empty without it.',
          'pubring-follow (edge-1)',
        ),
        time: described(Time, 'Its last request.'),
        hasCurrentSet: Type.Boolean({
          description: 'Whether it then got, or already had, the keys that are published now.',
          examples: [true],
        }),
        held: Type.Integer({
          description: 'Its requests that are held until the key set changes.',
          examples: [1],
        }),
      }),
      { description: 'The last request first.' },
    ),
  },
)
export type Verifiers = Static<typeof Verifiers>
