import type { Static } from 'typebox'
import { component, optionalText, optionalTime, Type, text, Uuid } from '../../kernel/contract.ts'

const warningCodes = [
  'key_expires',
  'no_active_key',
  'vouched_keys_active',
  'api_key_expires',
  'api_key_unused',
] as const

export const Warning = component('Warning', 'What needs attention before it breaks.', {
  code: Type.Enum([...warningCodes], {
    description:
      '`key_expires`: an active key expires within 30 days, and the project has no newer active key that remains. `no_active_key`: the project has keys, and none is active. `vouched_keys_active`: a key is deactivated, expired or deleted, and keys that it vouched for are active. `api_key_expires`: within 30 days. `api_key_unused`: for 90 days.',
  }),
  severity: Type.Enum(['info', 'warning', 'critical'], {
    description:
      'Urgency of an expiry: `critical` within a day, `warning` within 7 days, else `info`.',
  }),
  projectId: Type.Optional(Uuid),
  projectName: Type.Optional(Type.String()),
  kid: Type.Optional(Uuid),
  apiKeyId: Type.Optional(Uuid),
  label: optionalText('Label or name of the key or API key.'),
  time: optionalTime('When it expires, or was last used.'),
  detail: text('What it means and what to do.'),
})
export type Warning = Static<typeof Warning>

export const ProjectHealth = component('ProjectHealth', 'The state of a project at a glance.', {
  projectId: Uuid,
  keys: Type.Object({
    active: Type.Integer(),
    off: Type.Integer(),
    expired: Type.Integer(),
  }),
  nextExpireTime: optionalTime('When the next active key expires.'),
  rotations: Type.Integer({ description: 'Rotations under way.' }),
  warnings: Type.Integer({
    description: 'Number of warnings about its keys; the list of warnings has them.',
  }),
})
export type ProjectHealth = Static<typeof ProjectHealth>
