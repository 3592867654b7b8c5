import type { Static } from 'typebox'
import {
  ClearableTime,
  component,
  mergePatch,
  optionalText,
  optionalUuid,
  RoleName,
  requestBody,
  Time,
  TimeInput,
  Type,
  text,
  Uuid,
} from '../../kernel/contract.ts'

/** Members that are given at creation, and can be changed. */
const changeable = { name: text('1 to 255 code points.', 'deploy pipeline'), role: RoleName }

const apiKeyMembers = {
  id: Uuid,
  ...changeable,
  projectId: optionalUuid(
    'The project that it is bound to; if absent, it is valid for all projects.',
  ),
  prefix: text('The first characters of the secret.', 'pubring_4fTz'),
  active: Type.Boolean({ examples: [true] }),
  createTime: Time,
  expireTime: Type.Optional(Time),
  lastUseTime: Type.Optional(Time),
  exchanged: Type.Optional(
    Type.Object(
      {
        ruleId: Uuid,
        subject: text('`sub` of the token.', 'repo:acme/orders:ref:refs/heads/main'),
      },
      {
        description:
          'Set if a token was exchanged for it: the access rule, and who the token was for. It ends by itself, and can only be revoked.',
      },
    ),
  ),
}

export const ApiKey = component('ApiKey', 'An API key.', apiKeyMembers)
export type ApiKey = Static<typeof ApiKey>

const { exchanged: _exchanged, ...createdMembers } = apiKeyMembers

export const ApiKeyCreated = Type.Object(
  {
    ...createdMembers,
    apiKey: text('The secret for the `X-Api-Key` header. It is returned only once.', 'pubring_…'),
  },
  { $id: 'ApiKeyCreated' },
)
export type ApiKeyCreated = Static<typeof ApiKeyCreated>

export const ApiKeyCreate = requestBody(
  'ApiKeyCreate',
  {
    ...changeable,
    project: optionalText(
      'Id or name of the project to bind the API key to; if absent, it is valid for all projects.',
      'default',
    ),
    expireTime: Type.Optional(TimeInput),
  },
  { examples: [{ name: 'deploy pipeline', role: 'writer', project: 'default' }] },
)
export type ApiKeyCreate = Static<typeof ApiKeyCreate>

export const ApiKeyUpdate = mergePatch('ApiKeyUpdate', {
  ...changeable,
  active: apiKeyMembers.active,
  expireTime: ClearableTime,
})
export type ApiKeyUpdate = Static<typeof ApiKeyUpdate>
