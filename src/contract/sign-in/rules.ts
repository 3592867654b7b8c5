import type { Static } from 'typebox'
import { Conditions, conditionsPatch } from '../access-rules/conditions.ts'
import { RoleName } from '../api-keys.ts'
import {
  component,
  mergePatch,
  optionalText,
  optionalUuid,
  requestBody,
  Time,
  text,
  Uuid,
} from '../common.ts'
import { Type } from '../schema.ts'

const issuer = text('The OpenID provider whose claims are compared.', 'https://id.example.com')

export const SignInRule = component(
  'SignInRule',
  'Gives a role to people whose claims meet all conditions. A person has the roles of all rules that they meet.',
  {
    id: Uuid,
    name: Type.String({ examples: ['platform team'] }),
    issuer,
    conditions: Conditions,
    role: RoleName,
    projectId: optionalUuid('The project that the role is for; if absent, it is for all projects.'),
    active: Type.Boolean({ examples: [true] }),
    createTime: Time,
    updateTime: Time,
  },
)
export type SignInRule = Static<typeof SignInRule>

export const SignInRuleCreate = requestBody(
  'SignInRuleCreate',
  {
    name: text('1 to 255 code points.', 'platform team'),
    issuer: Type.Optional(
      Type.String({ ...issuer, description: 'By default the provider that is configured.' }),
    ),
    conditions: Conditions,
    role: RoleName,
    project: optionalText(
      'Id or name of the project that the role is for; if absent, it is for all projects.',
      'default',
    ),
    active: Type.Optional(Type.Boolean({ default: true })),
  },
  { examples: [{ name: 'platform team', conditions: { groups: 'platform' }, role: 'admin' }] },
)
export type SignInRuleCreate = Static<typeof SignInRuleCreate>

export const SignInRuleUpdate = mergePatch('SignInRuleUpdate', {
  name: Type.String({ examples: ['platform team'] }),
  conditions: conditionsPatch('`null` removes a condition.'),
  role: RoleName,
  active: Type.Boolean({ examples: [false] }),
})
export type SignInRuleUpdate = Static<typeof SignInRuleUpdate>
