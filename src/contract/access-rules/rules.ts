import type { Static } from 'typebox'
import { exampleToken, JsonObject, tokenCheckOutcomes } from '../checks/tokens.ts'
import {
  component,
  flag,
  mergePatch,
  optionalText,
  optionalTime,
  optionalUuid,
  requestBody,
  Time,
  text,
  Uuid,
} from '../common.ts'
import type { Role } from '../roles.ts'
import { Type } from '../schema.ts'
import { Conditions, conditionsPatch } from './conditions.ts'

/** Roles that an access rule may grant. */
export const grantableRoles = ['reader', 'registrar', 'writer'] as const satisfies Role[]
export type GrantableRole = (typeof grantableRoles)[number]

/** Where the keys of an issuer come from. */
export const keySources = ['discovery', 'jwksUri', 'jwks', 'project'] as const
export type KeySource = (typeof keySources)[number]

/** Seconds that an exchanged API key may be valid. */
export const lifetimeLimits = { minimum: 60, maximum: 900 } as const

export type IssuerJwks = { keys: Record<string, unknown>[] }

const Issuer = text(
  'The `iss` of the tokens, character by character: with and without a final slash are two issuers.',
  'https://token.actions.githubusercontent.com',
)
const Source = Type.Enum([...keySources], {
  description:
    "`discovery`: the issuer's `/.well-known/openid-configuration` names them. `jwksUri` and `jwks`: the member of that name does. `project`: they are the active keys of the project itself, which vouch for their successors.",
  examples: ['discovery'],
})
const JwksUri = text('Address of the JWKS.', 'https://issuer.example.com/keys')
const Jwks = Type.Unsafe<IssuerJwks>({
  type: 'object',
  description: 'A JWKS (RFC 7517) with the public keys of an issuer that serves none.',
  required: ['keys'],
  properties: { keys: { type: 'array', items: { type: 'object', additionalProperties: true } } },
})
const Audience = text(
  'An `aud` that the tokens must have. Default: the public URL of this service.',
  'https://keys.example.com',
)
const GrantedRole = Type.Enum([...grantableRoles], {
  description: 'The role of the exchanged API keys.',
  examples: ['registrar'],
})
const SingleUse = flag(
  'Whether each `jti` is accepted once. Leave it out for platforms that hand out the same token several times, such as GitLab, Kubernetes and SPIFFE.',
  false,
)
const MaxLifetime = Type.Integer({
  ...lifetimeLimits,
  description:
    'Seconds that an exchanged API key is valid at most. It never outlives the token that it was exchanged for.',
  examples: [900],
})
const Name = text('1 to 255 code points.', 'orders, deploy')
const AllProjects = flag(
  '`true`: exchanged API keys are valid for all projects. Excludes a project.',
  false,
)

export const AccessRule = component(
  'AccessRule',
  'A rule by which tokens of an issuer are exchanged for API keys of minutes.',
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
    projectId: optionalUuid('The project that exchanged API keys are for.'),
    allProjects: flag('Whether exchanged API keys are valid for all projects.', false),
    singleUse: SingleUse,
    maxLifetime: MaxLifetime,
    active: Type.Boolean({ examples: [true] }),
    createTime: Time,
    updateTime: Time,
    lastExchangeTime: Type.Optional(Time),
  },
)
export type AccessRule = Static<typeof AccessRule>

export const AccessRuleCreate = requestBody(
  'AccessRuleCreate',
  {
    name: Name,
    issuer: Issuer,
    keySource: Type.Optional(Source),
    jwksUri: Type.Optional(JwksUri),
    jwks: Type.Optional(Jwks),
    audience: Type.Optional(Audience),
    conditions: Conditions,
    role: GrantedRole,
    project: optionalText(
      'Id or name of the project that exchanged API keys are for. Either this or `allProjects` is required.',
      'default',
    ),
    allProjects: Type.Optional(AllProjects),
    singleUse: Type.Optional(SingleUse),
    maxLifetime: Type.Optional(MaxLifetime),
    active: Type.Optional(Type.Boolean({ examples: [true] })),
  },
  {
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
export type AccessRuleCreate = Static<typeof AccessRuleCreate>

export const AccessRuleUpdate = mergePatch('AccessRuleUpdate', {
  name: Name,
  jwksUri: JwksUri,
  jwks: Jwks,
  audience: Audience,
  conditions: conditionsPatch('Merged with the present ones; `null` removes a condition.', [
    { ref: 'refs/heads/release' },
  ]),
  role: GrantedRole,
  singleUse: SingleUse,
  maxLifetime: MaxLifetime,
  active: Type.Boolean({ examples: [false] }),
})
export type AccessRuleUpdate = Static<typeof AccessRuleUpdate>

/** The steps of a check, in order; none is run after one that fails. */
export const accessRuleCheckSteps = [
  'well_formed',
  'iss',
  'rule_active',
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
export type AccessRuleCheckStep = (typeof accessRuleCheckSteps)[number]

export const AccessRuleCheckRequest = requestBody('AccessRuleCheckRequest', {
  token: text(
    'The token that a workload would send. It is neither stored nor logged.',
    exampleToken,
  ),
})
export type AccessRuleCheckRequest = Static<typeof AccessRuleCheckRequest>

export const AccessRuleCheck = component(
  'AccessRuleCheck',
  'Why an access rule would or would not exchange a token.',
  {
    accepted: flag(
      'Whether the rule would exchange the token now, if it was not used before.',
      false,
    ),
    steps: Type.Array(
      Type.Object({
        step: Type.Enum([...accessRuleCheckSteps], { examples: ['conditions'] }),
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
    expireTime: optionalTime('The end of the API key, if accepted.'),
  },
)
export type AccessRuleCheck = Static<typeof AccessRuleCheck>
