import { type Static, Type } from 'typebox'
import { SkippedRules } from './common.ts'
import { AlgorithmName, PublicKeyPemInput } from './keys.ts'

export const KeyCheckRequest = Type.Object(
  { publicKeyPem: PublicKeyPemInput, algorithm: Type.Optional(AlgorithmName) },
  { $id: 'KeyCheckRequest', additionalProperties: false },
)
export type KeyCheckRequest = Static<typeof KeyCheckRequest>

const Faults = Type.Array(
  Type.Object({
    code: Type.String({ examples: ['rsa_modulus_too_small'] }),
    detail: Type.String({ description: 'What is wrong and what to do.' }),
    skipped: Type.Optional(SkippedRules),
  }),
)

export const KeyCheck = Type.Object(
  {
    accepted: Type.Boolean({
      description:
        'Whether the key passes the key policy. Limits and the other keys of a project are not checked.',
    }),
    problem: Type.Optional(
      Type.String({
        description: 'The error `code` of an attempt to register the key.',
        examples: ['weak_key'],
      }),
    ),
    faults: Type.Unsafe<Static<typeof Faults>>({
      ...Faults,
      description: 'All faults; the first determines `problem`.',
    }),
    warnings: Faults,
    normalised: Type.Array(Type.String({ examples: ['line_breaks'] }), {
      description: 'Lossless repairs of the submitted text.',
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
            description: 'The values of `algorithm` that match the key, the default one first.',
          }),
        },
        { description: 'The recognized key, if it could be parsed.' },
      ),
    ),
    publicKeyPem: Type.Optional(
      Type.String({ description: 'The key as it would be stored, if it is accepted.' }),
    ),
  },
  { $id: 'KeyCheck', description: 'The result of a key check. Nothing is stored.' },
)
export type KeyCheck = Static<typeof KeyCheck>
