import type { Static } from 'typebox'
import {
  component,
  exampleToken,
  flag,
  JsonObject,
  optionalText,
  requestBody,
  SkippedRules,
  Type,
  text,
  Uuid,
} from '../../kernel/contract.ts'
import { tokenCheckOutcomes } from '../../tokens/findings.ts'
import { AlgorithmName, PublicKeyPemInput } from '../keys/contract.ts'

/** The steps of a token check, in order, and the `reason` if one fails: no later step is then run. */
export const tokenCheckReasons = {
  well_formed: 'malformed_token',
  kid_present: 'kid_missing',
  kid_known: 'kid_unknown',
  key_active: 'key_inactive',
  algorithm: 'algorithm_mismatch',
  signature: 'signature_invalid',
  exp: 'token_expired',
  nbf: 'token_not_yet_valid',
  iss: 'issuer_mismatch',
  aud: 'audience_mismatch',
} as const
export type TokenCheckStep = keyof typeof tokenCheckReasons
export const tokenCheckSteps = Object.keys(tokenCheckReasons) as TokenCheckStep[]

export const TokenCheckRequest = requestBody(
  'TokenCheckRequest',
  {
    token: text(
      'A JWT in compact serialization (RFC 7515 section 7.1). It is neither stored nor logged.',
      exampleToken,
    ),
    audience: Type.Optional(
      Type.String({
        minLength: 1,
        description: 'The `aud` that the verifier expects; if absent, `aud` is not compared.',
        examples: ['orders'],
      }),
    ),
    issuer: Type.Optional(
      Type.String({
        minLength: 1,
        description: 'The `iss` that the verifier expects; if absent, the issuer of the project.',
        examples: ['https://orders.example.com'],
      }),
    ),
    at: optionalText(
      'Checks whether the token would have verified at this past time: RFC 3339, or `iat`, when the token says that it was issued. A key that ended as compromised is valid at no time by `iat`, because a thief can date a token back; with a time of your own, the answer rests on that time.',
      '2026-03-01T12:00:00Z',
      'iat',
    ),
  },
  { examples: [{ token: exampleToken, audience: 'orders' }] },
)
export type TokenCheckRequest = Static<typeof TokenCheckRequest>

export const TokenCheck = component('TokenCheck', 'Why a token would or would not verify.', {
  valid: flag(
    'Whether a verifier that allows no clock skew would accept the token now, or would have at `at`.',
    false,
  ),
  reason: Type.Optional(
    Type.Enum(Object.values(tokenCheckReasons), {
      description: 'Why the token is not valid: the reason for the failed step.',
      examples: ['key_inactive'],
    }),
  ),
  steps: Type.Array(
    Type.Object({
      step: Type.Enum(tokenCheckSteps, { examples: ['key_active'] }),
      outcome: Type.Enum([...tokenCheckOutcomes], {
        description:
          '`warned`: some verifiers reject the token for this. `skipped`: nothing was compared.',
        examples: ['failed'],
      }),
      detail: Type.String({ examples: ['The key is deactivated. Sign with an active one.'] }),
    }),
    { description: 'The steps in order, up to the first that failed.' },
  ),
  header: Type.Optional(JsonObject('The header, if it could be decoded. It is not verified.')),
  claims: Type.Optional(
    JsonObject(
      'The claims, if they could be decoded. They are verified only if `signature` passed.',
    ),
  ),
  key: Type.Optional(
    Type.Object(
      {
        id: Uuid,
        publishedKid: Type.Optional(Type.String({ examples: ['orders-2026-05'] })),
        label: Type.String({ examples: ['orders service, spring 2026'] }),
        jwsAlgorithm: Type.String({ examples: ['RS256'] }),
        active: Type.Boolean({ examples: [false] }),
      },
      { description: 'The key of the project with this `kid`.' },
    ),
  ),
})
export type TokenCheck = Static<typeof TokenCheck>

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
