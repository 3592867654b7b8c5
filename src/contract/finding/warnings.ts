import { type Static, Type } from 'typebox'
import { described, Time, Uuid } from '../common.ts'

export const warningCodes = [
  'key_expires',
  'no_active_key',
  'api_key_expires',
  'api_key_unused',
  'rotation_waiting',
] as const

export const Warning = Type.Object(
  {
    code: Type.Enum([...warningCodes], {
      description:
        '`key_expires`: an active key expires within 30 days, and the project has no newer active key that remains. `no_active_key`: the project has keys, and none is active. `api_key_expires`: within 30 days. `api_key_unused`: for 90 days. `rotation_waiting`: a scheduled step of a rotation is due and cannot be taken.',
    }),
    severity: Type.Enum(['info', 'warning', 'critical'], {
      description:
        'Of what expires: `critical` within a day, `warning` within 7 days, else `info`.',
    }),
    projectId: Type.Optional(Uuid),
    projectName: Type.Optional(Type.String()),
    kid: Type.Optional(Uuid),
    apiKeyId: Type.Optional(Uuid),
    label: Type.Optional(Type.String({ description: 'Label or name of the key or API key.' })),
    time: Type.Optional(described(Time, 'When it expires, or was last used.')),
    detail: Type.String({ description: 'What it means and what to do.' }),
  },
  { $id: 'Warning', description: 'What needs attention before it breaks.' },
)
export type Warning = Static<typeof Warning>

export const ProjectHealth = Type.Object(
  {
    projectId: Uuid,
    keys: Type.Object({
      active: Type.Integer(),
      off: Type.Integer(),
      expired: Type.Integer(),
    }),
    nextExpireTime: Type.Optional(described(Time, 'When the next active key expires.')),
    rotations: Type.Integer({ description: 'Rotations under way.' }),
    warnings: Type.Integer({ description: 'Of its keys; the list of warnings has them.' }),
  },
  { $id: 'ProjectHealth', description: 'The state of a project at a glance.' },
)
export type ProjectHealth = Static<typeof ProjectHealth>
