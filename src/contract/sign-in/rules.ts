import { type Static, Type } from 'typebox'
import { RoleName } from '../api-keys.ts'
import { described, Time, Uuid } from '../common.ts'
import { Conditions, conditionsPatch } from '../trust/conditions.ts'

const issuer = Type.String({
  description: 'The OpenID provider whose claims are compared.',
  examples: ['https://id.example.com'],
})

export const SignInRule = Type.Object(
  {
    id: Uuid,
    name: Type.String({ examples: ['platform team'] }),
    issuer,
    conditions: Conditions,
    role: RoleName,
    projectId: Type.Optional(
      described(Uuid, 'The project that the role is for; if absent, it is for all projects.'),
    ),
    active: Type.Boolean({ examples: [true] }),
    createTime: Time,
    updateTime: Time,
  },
  {
    $id: 'SignInRule',
    description:
      'Gives a role to people whose claims meet all conditions. A person has the roles of all rules that they meet.',
  },
)
export type SignInRule = Static<typeof SignInRule>

export const SignInRuleCreate = Type.Object(
  {
    name: Type.String({ description: '1 to 255 code points.', examples: ['platform team'] }),
    issuer: Type.Optional(
      Type.String({ ...issuer, description: 'By default the provider that is configured.' }),
    ),
    conditions: Conditions,
    role: RoleName,
    project: Type.Optional(
      Type.String({
        description:
          'Id or name of the project that the role is for; if absent, it is for all projects.',
        examples: ['default'],
      }),
    ),
    active: Type.Optional(Type.Boolean({ default: true })),
  },
  {
    $id: 'SignInRuleCreate',
    additionalProperties: false,
    examples: [{ name: 'platform team', conditions: { groups: 'platform' }, role: 'admin' }],
  },
)
export type SignInRuleCreate = Static<typeof SignInRuleCreate>

export const SignInRuleUpdate = Type.Object(
  {
    name: Type.Optional(Type.String({ examples: ['platform team'] })),
    conditions: Type.Optional(conditionsPatch('`null` removes a condition.')),
    role: Type.Optional(RoleName),
    active: Type.Optional(Type.Boolean({ examples: [false] })),
  },
  {
    $id: 'SignInRuleUpdate',
    additionalProperties: false,
    description: 'A merge patch (RFC 7396).',
  },
)
export type SignInRuleUpdate = Static<typeof SignInRuleUpdate>
