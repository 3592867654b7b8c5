import type { Static } from 'typebox'
import {
  component,
  exampleToken,
  flag,
  JsonObject,
  mergePatch,
  optionalText,
  optionalTime,
  optionalUuid,
  type Role,
  requestBody,
  roles,
  Time,
  Type,
  text,
  Uuid,
} from '../../kernel/contract.ts'
import { tokenCheckOutcomes } from '../../tokens/findings.ts'

/** The value that a claim is compared with. */
export type ClaimValue = string | number | boolean

/** Conditions on the claims of a token, all of which must be met. */
export const Conditions = Type.Unsafe<Record<string, ClaimValue>>({
  type: 'object',
  additionalProperties: { type: ['string', 'number', 'boolean'] },
  description:
    'Claims and the value that each must have. A text that ends in `*` is a pattern: the claim must begin with what stands before it. A name that begins with `/` is a JSON pointer (RFC 6901) to a claim inside another. Of a claim that is a list, one element must match. Numbers and booleans match only themselves.',
  examples: [{ repository_id: '74', ref: 'refs/heads/main' }],
})
export type Conditions = Static<typeof Conditions>

/** A merge patch (RFC 7396) of conditions. */
export const conditionsPatch = (description: string, examples?: object[]) =>
  Type.Unsafe<Record<string, ClaimValue | null>>({
    type: 'object',
    additionalProperties: { type: ['string', 'number', 'boolean', 'null'] },
    description,
    ...(examples && { examples }),
  })

/** Whom a rule is for: people who sign in, or workloads that exchange tokens. */
export const holders = ['people', 'workloads'] as const
export type Holders = (typeof holders)[number]

/** Roles that a rule for workloads may give. */
export const workloadRoles: readonly Role[] = ['reader', 'registrar', 'writer', 'auditor']

/** Where the keys of an issuer come from. */
const keySources = ['discovery', 'jwksUri', 'jwks', 'project'] as const
export type KeySource = (typeof keySources)[number]

/** Seconds that an exchanged API key may be valid. */
const lifetimeLimits = { minimum: 60, maximum: 900 } as const

export type IssuerJwks = { keys: Record<string, unknown>[] }

const For = Type.Enum([...holders], {
  description:
    '`people` sign in through the OpenID provider; `workloads` exchange tokens of their platform for API keys of minutes. It never changes.',
  examples: ['workloads'],
})
const Issuer = text(
  'The `iss` of the tokens, character by character: with and without a final slash are two issuers. For people it is `PUBRING_OIDC_ISSUER`.',
  'https://token.actions.githubusercontent.com',
)
const Source = Type.Enum([...keySources], {
  description:
    "For workloads. `discovery`: the issuer's `/.well-known/openid-configuration` names them. `jwksUri` and `jwks`: the member of that name does. `project`: they are the active keys of the project itself, which vouch for their successors.",
  examples: ['discovery'],
})
const JwksUri = text('For workloads. Address of the JWKS.', 'https://issuer.example.com/keys')
const Jwks = Type.Unsafe<IssuerJwks>({
  type: 'object',
  description:
    'For workloads. A JWKS (RFC 7517) with the public keys of an issuer that serves none.',
  required: ['keys'],
  properties: { keys: { type: 'array', items: { type: 'object', additionalProperties: true } } },
})
const Audience = text(
  'For workloads. An `aud` that the tokens must have. Default: the public URL of this service.',
  'https://keys.example.com',
)
const GivenRole = Type.Enum([...roles], {
  description: `The role that the rule gives. For workloads: ${workloadRoles.map((role) => `\`${role}\``).join(', ')}.`,
  examples: ['registrar'],
})
const SingleUse = flag(
  'For workloads. Whether each `jti` is accepted once. Leave it out for platforms that hand out the same token several times, such as GitLab, Kubernetes and SPIFFE.',
  false,
)
const MaxLifetime = Type.Integer({
  ...lifetimeLimits,
  description:
    'For workloads. Seconds that an exchanged API key is valid at most. It never outlives the token that it was exchanged for.',
  examples: [900],
})
const Name = text('1 to 255 code points.', 'orders, deploy')

/** Members that both kinds of rules have, and that change. */
const common = { name: Name, conditions: Conditions, role: GivenRole }

/** Members that only rules for workloads have. */
const forWorkloads = {
  keySource: Type.Optional(Source),
  jwksUri: Type.Optional(JwksUri),
  jwks: Type.Optional(Jwks),
  audience: Type.Optional(Audience),
  singleUse: Type.Optional(SingleUse),
  maxLifetime: Type.Optional(MaxLifetime),
}
export type WorkloadMember = keyof typeof forWorkloads
export const workloadMembers = Object.keys(forWorkloads)

export const AccessRule = component(
  'AccessRule',
  'A rule that gives a role to people whose claims, or to workloads whose tokens, meet all conditions. A person has the roles of all rules that they meet.',
  {
    id: Uuid,
    for: For,
    issuer: Issuer,
    ...common,
    projectId: optionalUuid('The project that the role is for.'),
    allProjects: flag('Whether the role is for all projects.', false),
    ...forWorkloads,
    active: Type.Boolean({ examples: [true] }),
    createTime: Time,
    updateTime: Time,
    lastExchangeTime: Type.Optional(Time),
    notes: Type.Optional(
      Type.Array(Type.String({ examples: ['The issuer has 2 keys for signatures.'] }), {
        description:
          'Only in the response of a creation, and of a change by a patch that has `jwksUri`, `jwks` or `active`: what is found where the keys of the issuer are. It decides nothing.',
      }),
    ),
  },
)
export type AccessRule = Static<typeof AccessRule>

export const AccessRuleCreate = requestBody(
  'AccessRuleCreate',
  {
    for: For,
    issuer: Type.Optional(Issuer),
    ...common,
    project: optionalText(
      'Id or name of the project that the role is for. Either this or `allProjects` is required.',
      'default',
    ),
    allProjects: Type.Optional(
      flag('`true`: the role is for all projects. Excludes a project.', false),
    ),
    ...forWorkloads,
    active: Type.Optional(Type.Boolean({ examples: [true] })),
  },
  {
    examples: [
      {
        for: 'workloads',
        name: 'orders, deploy',
        issuer: 'https://token.actions.githubusercontent.com',
        conditions: { repository_id: '74', ref: 'refs/heads/main' },
        role: 'registrar',
        project: 'default',
      },
      {
        for: 'people',
        name: 'platform team',
        conditions: { groups: 'platform' },
        role: 'admin',
        allProjects: true,
      },
    ],
  },
)
export type AccessRuleCreate = Static<typeof AccessRuleCreate>

/** Members that a patch may have. */
const patched = {
  ...common,
  conditions: conditionsPatch('Merged with the present ones; `null` removes a condition.', [
    { ref: 'refs/heads/release' },
  ]),
  jwksUri: JwksUri,
  jwks: Jwks,
  audience: Audience,
  singleUse: SingleUse,
  maxLifetime: MaxLifetime,
  active: Type.Boolean({ examples: [false] }),
}

export const AccessRuleUpdate = mergePatch('AccessRuleUpdate', patched)
export type AccessRuleUpdate = Static<typeof AccessRuleUpdate>

/** The steps of a check, in order; none is run after one that fails. */
const accessRuleCheckSteps = [
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
  'others',
  'people',
] as const
export type AccessRuleCheckStep = (typeof accessRuleCheckSteps)[number]

export const AccessRuleCheckRequest = requestBody(
  'AccessRuleCheckRequest',
  {
    token: optionalText(
      'The token that a workload would send, or an ID token of a person. It is neither stored nor logged.',
      exampleToken,
    ),
    claims: Type.Optional(
      JsonObject(
        'In place of a token, for people: their claims, as a sign-in without a role shows them.',
      ),
    ),
    change: Type.Optional(
      Type.Partial(Type.Object(patched), {
        additionalProperties: false,
        description:
          'In place of a token, for people: a patch of the rule that is not made, to see who would gain or lose access. A deletion takes what `{"active": false}` takes.',
      }),
    ),
  },
  { examples: [{ token: exampleToken }] },
)
export type AccessRuleCheckRequest = Static<typeof AccessRuleCheckRequest>

export const AccessRuleCheck = component(
  'AccessRuleCheck',
  'Why an access rule does or does not give its role.',
  {
    accepted: flag(
      'Whether the rule would exchange the token now, if it is named in the exchange, gives its role to a person with these claims, or may be changed so without taking access from anyone.',
      false,
    ),
    steps: Type.Array(
      Type.Object({
        step: Type.Enum([...accessRuleCheckSteps], { examples: ['conditions'] }),
        outcome: Type.Enum([...tokenCheckOutcomes], { examples: ['failed'] }),
        detail: Type.String({ examples: ['The token has no claim “repository_id”.'] }),
      }),
      {
        description:
          'The steps in order, up to the first that failed. If the keys of the issuer cannot be read, `signature` is `skipped`, the other steps are made, and the token is not accepted.',
      },
    ),
    people: Type.Optional(
      Type.Array(
        Type.Object({
          id: Uuid,
          name: text('Name, email address or subject.', 'Ada Lovelace'),
          effect: Type.Enum(['gains', 'loses'], { examples: ['loses'] }),
          self: flag('Whether it is the caller.', false),
        }),
        {
          description:
            'For a change: who gains and who loses access, of the people who signed in within the last 30 days, by their claims then.',
        },
      ),
    ),
    header: Type.Optional(JsonObject('The header, if it could be decoded.')),
    claims: Type.Optional(
      JsonObject(
        'The claims, if they could be decoded. They are verified only if `signature` passed.',
      ),
    ),
    expireTime: optionalTime('The end of the API key, if a token of a workload is accepted.'),
  },
)
export type AccessRuleCheck = Static<typeof AccessRuleCheck>
