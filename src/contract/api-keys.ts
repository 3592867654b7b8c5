import type { Static } from 'typebox'
import {
  component,
  mergePatch,
  optionalText,
  optionalUuid,
  requestBody,
  Time,
  TimeInput,
  text,
  Uuid,
} from './common.ts'
import { roles } from './roles.ts'
import { Type } from './schema.ts'

export const RoleName = Type.Enum([...roles], {
  description:
    '`reader` reads, `registrar` also creates JWT keys, `writer` also changes and deletes them, `admin` changes everything.',
  examples: ['writer'],
})

const apiKeyMembers = {
  id: Uuid,
  name: Type.String({ examples: ['deploy pipeline'] }),
  role: RoleName,
  projectId: optionalUuid(
    'The project that it is bound to; if absent, it is valid for all projects.',
  ),
  prefix: text('The first characters of the secret.', 'pubring_4fTz'),
  active: Type.Boolean({ examples: [true] }),
  createTime: Time,
  expireTime: Type.Optional(Time),
  lastUseTime: Type.Optional(Time),
}

export const ApiKey = component('ApiKey', 'An API key.', apiKeyMembers)
export type ApiKey = Static<typeof ApiKey>

export const ApiKeyCreated = Type.Object(
  {
    ...apiKeyMembers,
    apiKey: text('The secret for the `X-Api-Key` header. It is returned only once.', 'pubring_…'),
  },
  { $id: 'ApiKeyCreated' },
)
export type ApiKeyCreated = Static<typeof ApiKeyCreated>

export const ApiKeyCreate = requestBody(
  'ApiKeyCreate',
  {
    name: text('1 to 255 code points.', 'deploy pipeline'),
    role: RoleName,
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
  name: Type.String({ examples: ['deploy pipeline'] }),
  role: RoleName,
  active: Type.Boolean({ examples: [false] }),
  expireTime: Type.Union([TimeInput, Type.Null()], { description: '`null` clears it.' }),
})
export type ApiKeyUpdate = Static<typeof ApiKeyUpdate>
