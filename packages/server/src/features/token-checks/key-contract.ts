import type { Static } from 'typebox'
import {
  component,
  flag,
  optionalText,
  requestBody,
  SkippedRules,
  text,
} from '../../kernel/contract/common.ts'
import { Type } from '../../kernel/contract/schema.ts'
import { AlgorithmName, PublicKeyPemInput } from '../keys/contract.ts'

export const KeyCheckRequest = requestBody('KeyCheckRequest', {
  publicKeyPem: PublicKeyPemInput,
  algorithm: Type.Optional(AlgorithmName),
})
export type KeyCheckRequest = Static<typeof KeyCheckRequest>

const Faults = Type.Array(
  Type.Object({
    code: Type.String({ examples: ['rsa_modulus_too_small'] }),
    detail: text('What is wrong and what to do.'),
    skipped: Type.Optional(SkippedRules),
  }),
)

export const KeyCheck = component('KeyCheck', 'The result of a key check. Nothing is stored.', {
  accepted: flag(
    'Whether the key passes the key policy. Limits and the other keys of a project are not checked.',
  ),
  problem: optionalText('The error `code` of an attempt to register the key.', 'weak_key'),
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
  publicKeyPem: optionalText('The key as it would be stored, if it is accepted.'),
})
export type KeyCheck = Static<typeof KeyCheck>
