import { type Static, Type } from 'typebox'
import { AlgorithmName, PublicKeyPemInput } from './keys.ts'

export const KeyCheckRequest = Type.Object(
  { publicKeyPem: PublicKeyPemInput, algorithm: Type.Optional(AlgorithmName) },
  { $id: 'KeyCheckRequest', additionalProperties: false },
)
export type KeyCheckRequest = Static<typeof KeyCheckRequest>

const Faults = Type.Array(
  Type.Object({
    code: Type.String({ examples: ['rsa_modulus_too_small'] }),
    detail: Type.String({ description: 'What was found, what is wanted and what to do.' }),
  }),
)

export const KeyCheck = Type.Object(
  {
    accepted: Type.Boolean({
      description: 'Whether registering it would succeed as far as the key decides.',
    }),
    problem: Type.Optional(
      Type.String({
        description: 'The `code` with which registering it would be refused.',
        examples: ['weak_key'],
      }),
    ),
    faults: Type.Unsafe<Static<typeof Faults>>({
      ...Faults,
      description: 'Every reason to refuse it; the first decides.',
    }),
    warnings: Faults,
    normalised: Type.Array(Type.String({ examples: ['line_breaks'] }), {
      description: 'What was repaired on reading, without loss.',
    }),
    key: Type.Optional(
      Type.Object(
        {
          kty: Type.String({ examples: ['RSA'] }),
          bits: Type.Optional(Type.Integer({ examples: [2048] })),
          crv: Type.Optional(Type.String({ examples: ['P-256'] })),
          thumbprint: Type.String(),
          spkiSha256: Type.String(),
          algorithms: Type.Array(Type.String(), {
            description: 'The values of `algorithm` that fit, the usual one first.',
          }),
        },
        { description: 'What was recognised, where the key could be read.' },
      ),
    ),
    publicKeyPem: Type.Optional(
      Type.String({ description: 'An accepted key as it would be stored.' }),
    ),
  },
  { $id: 'KeyCheck', description: 'The verdict on a key, without storing anything.' },
)
export type KeyCheck = Static<typeof KeyCheck>
