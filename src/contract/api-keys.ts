import { type Static, Type } from 'typebox'
import { described, Time, TimeInput, Uuid } from './common.ts'
import { roles } from './roles.ts'

export const RoleName = Type.Enum([...roles], {
  description:
    '`reader` reads, `registrar` also creates JWT keys, `writer` also changes and deletes them, `admin` changes everything.',
  examples: ['writer'],
})

const apiKeyMembers = {
  id: Uuid,
  name: Type.String({ examples: ['deploy pipeline'] }),
  role: RoleName,
  projectId: Type.Optional(
    described(Uuid, 'The project that it is bound to; if absent, it is valid for all projects.'),
  ),
  prefix: Type.String({
    description: 'The first characters of the secret.',
    examples: ['pubring_4fTz'],
  }),
  active: Type.Boolean({ examples: [true] }),
  createTime: Time,
  expireTime: Type.Optional(Time),
  lastUseTime: Type.Optional(Time),
}

export const ApiKey = Type.Object(apiKeyMembers, { $id: 'ApiKey', description: 'An API key.' })
export type ApiKey = Static<typeof ApiKey>

export const ApiKeyCreated = Type.Object(
  {
    ...apiKeyMembers,
    apiKey: Type.String({
      description: 'The secret for the `X-Api-Key` header. It is returned only once.',
      examples: ['pubring_…'],
    }),
  },
  { $id: 'ApiKeyCreated' },
)
export type ApiKeyCreated = Static<typeof ApiKeyCreated>

export const ApiKeyCreate = Type.Object(
  {
    name: Type.String({ description: '1 to 255 code points.', examples: ['deploy pipeline'] }),
    role: RoleName,
    project: Type.Optional(
      Type.String({
        description:
          'Id or name of the project to bind the API key to; if absent, it is valid for all projects.',
        examples: ['default'],
      }),
    ),
    expireTime: Type.Optional(TimeInput),
  },
  {
    $id: 'ApiKeyCreate',
    additionalProperties: false,
    examples: [{ name: 'deploy pipeline', role: 'writer', project: 'default' }],
  },
)
export type ApiKeyCreate = Static<typeof ApiKeyCreate>

export const ApiKeyUpdate = Type.Object(
  {
    name: Type.Optional(Type.String({ examples: ['deploy pipeline'] })),
    role: Type.Optional(RoleName),
    active: Type.Optional(Type.Boolean({ examples: [false] })),
    expireTime: Type.Optional(
      Type.Union([TimeInput, Type.Null()], { description: '`null` clears it.' }),
    ),
  },
  { $id: 'ApiKeyUpdate', additionalProperties: false, description: 'A merge patch (RFC 7396).' },
)
export type ApiKeyUpdate = Static<typeof ApiKeyUpdate>
