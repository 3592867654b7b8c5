import { type Static, Type } from 'typebox'
import { described, Time, Uuid } from '../common.ts'
import type { Role } from '../roles.ts'
import { exampleToken, JsonObject, tokenCheckOutcomes } from '../token-checks.ts'
import { Conditions, conditionsPatch } from './conditions.ts'

/** Roles that a trust policy may grant. */
export const grantableRoles = ['reader', 'registrar', 'writer'] as const satisfies Role[]
export type GrantableRole = (typeof grantableRoles)[number]

/** Where the keys of an issuer come from. */
export const keySources = ['discovery', 'jwksUri', 'jwks', 'project'] as const
export type KeySource = (typeof keySources)[number]

/** Seconds that an exchanged API key may be valid. */
export const lifetimeLimits = { minimum: 60, maximum: 900 } as const

export type IssuerJwks = { keys: Record<string, unknown>[] }

const Issuer = Type.String({
  description:
    'The `iss` of the tokens, character by character: with and without a final slash are two issuers.',
  examples: ['https://token.actions.githubusercontent.com'],
})
const Source = Type.Enum([...keySources], {
  description:
    "`discovery`: the issuer's `/.well-known/openid-configuration` names them. `jwksUri` and `jwks`: the member of that name does. `project`: they are the active keys of the project itself, which vouch for their successors.",
  examples: ['discovery'],
})
const JwksUri = Type.String({
  description: 'Address of the JWKS.',
  examples: ['https://issuer.example.com/keys'],
})
const Jwks = Type.Unsafe<IssuerJwks>({
  type: 'object',
  description: 'A JWKS (RFC 7517) with the public keys of an issuer that serves none.',
  required: ['keys'],
  properties: { keys: { type: 'array', items: { type: 'object', additionalProperties: true } } },
})
const Audience = Type.String({
  description: 'An `aud` that the tokens must have. Default: the public URL of this service.',
  examples: ['https://keys.example.com'],
})
const GrantedRole = Type.Enum([...grantableRoles], {
  description: 'The role of the exchanged API keys.',
  examples: ['registrar'],
})
const SingleUse = Type.Boolean({
  description:
    'Whether each `jti` is accepted once. Leave it out for platforms that hand out the same token several times, such as GitLab, Kubernetes and SPIFFE.',
  examples: [false],
})
const MaxLifetime = Type.Integer({
  ...lifetimeLimits,
  description:
    'Seconds that an exchanged API key is valid at most. It never outlives the token that it was exchanged for.',
  examples: [900],
})
const Name = Type.String({ description: '1 to 255 code points.', examples: ['orders, deploy'] })
const AllProjects = Type.Boolean({
  description: '`true`: exchanged API keys are valid for all projects. Excludes a project.',
  examples: [false],
})

export const TrustPolicy = Type.Object(
  {
    id: Uuid,
    name: Name,
    issuer: Issuer,
    keySource: Source,
    jwksUri: Type.Optional(JwksUri),
    jwks: Type.Optional(Jwks),
    audience: Audience,
    conditions: Conditions,
    role: GrantedRole,
    projectId: Type.Optional(described(Uuid, 'The project that exchanged API keys are for.')),
    allProjects: Type.Boolean({
      description: 'Whether exchanged API keys are valid for all projects.',
      examples: [false],
    }),
    singleUse: SingleUse,
    maxLifetime: MaxLifetime,
    active: Type.Boolean({ examples: [true] }),
    createTime: Time,
    updateTime: Time,
    lastExchangeTime: Type.Optional(Time),
  },
  {
    $id: 'TrustPolicy',
    description: 'A rule by which tokens of an issuer are exchanged for API keys of minutes.',
  },
)
export type TrustPolicy = Static<typeof TrustPolicy>

export const TrustPolicyCreate = Type.Object(
  {
    name: Name,
    issuer: Issuer,
    keySource: Type.Optional(Source),
    jwksUri: Type.Optional(JwksUri),
    jwks: Type.Optional(Jwks),
    audience: Type.Optional(Audience),
    conditions: Conditions,
    role: GrantedRole,
    project: Type.Optional(
      Type.String({
        description:
          'Id or name of the project that exchanged API keys are for. Either this or `allProjects` is required.',
        examples: ['default'],
      }),
    ),
    allProjects: Type.Optional(AllProjects),
    singleUse: Type.Optional(SingleUse),
    maxLifetime: Type.Optional(MaxLifetime),
    active: Type.Optional(Type.Boolean({ examples: [true] })),
  },
  {
    $id: 'TrustPolicyCreate',
    additionalProperties: false,
    examples: [
      {
        name: 'orders, deploy',
        issuer: 'https://token.actions.githubusercontent.com',
        conditions: { repository_id: '74', ref: 'refs/heads/main' },
        role: 'registrar',
        project: 'default',
      },
    ],
  },
)
export type TrustPolicyCreate = Static<typeof TrustPolicyCreate>

export const TrustPolicyUpdate = Type.Object(
  {
    name: Type.Optional(Name),
    jwksUri: Type.Optional(JwksUri),
    jwks: Type.Optional(Jwks),
    audience: Type.Optional(Audience),
    conditions: Type.Optional(
      conditionsPatch('Merged with the present ones; `null` removes a condition.', [
        { ref: 'refs/heads/release' },
      ]),
    ),
    role: Type.Optional(GrantedRole),
    singleUse: Type.Optional(SingleUse),
    maxLifetime: Type.Optional(MaxLifetime),
    active: Type.Optional(Type.Boolean({ examples: [false] })),
  },
  {
    $id: 'TrustPolicyUpdate',
    additionalProperties: false,
    description: 'A merge patch (RFC 7396).',
  },
)
export type TrustPolicyUpdate = Static<typeof TrustPolicyUpdate>

/** The steps of a check, in order; none is run after one that fails. */
export const trustPolicyCheckSteps = [
  'well_formed',
  'iss',
  'policy_active',
  'type',
  'signature',
  'exp',
  'nbf',
  'aud',
  'sub',
  'cnf',
  'conditions',
  'jti',
] as const
export type TrustPolicyCheckStep = (typeof trustPolicyCheckSteps)[number]

export const TrustPolicyCheckRequest = Type.Object(
  {
    token: Type.String({
      description: 'The token that a workload would send. It is neither stored nor logged.',
      examples: [exampleToken],
    }),
  },
  { $id: 'TrustPolicyCheckRequest', additionalProperties: false },
)
export type TrustPolicyCheckRequest = Static<typeof TrustPolicyCheckRequest>

export const TrustPolicyCheck = Type.Object(
  {
    accepted: Type.Boolean({
      description: 'Whether the policy would exchange the token now, if it was not used before.',
      examples: [false],
    }),
    steps: Type.Array(
      Type.Object({
        step: Type.Enum([...trustPolicyCheckSteps], { examples: ['conditions'] }),
        outcome: Type.Enum([...tokenCheckOutcomes], { examples: ['failed'] }),
        detail: Type.String({ examples: ['The token has no claim “repository_id”.'] }),
      }),
      { description: 'The steps in order, up to the first that failed.' },
    ),
    header: Type.Optional(JsonObject('The header, if it could be decoded.')),
    claims: Type.Optional(
      JsonObject(
        'The claims, if they could be decoded. They are verified only if `signature` passed.',
      ),
    ),
    expireTime: Type.Optional(described(Time, 'The end of the API key, if accepted.')),
  },
  {
    $id: 'TrustPolicyCheck',
    description: 'Why a trust policy would or would not exchange a token.',
  },
)
export type TrustPolicyCheck = Static<typeof TrustPolicyCheck>
