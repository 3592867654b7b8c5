import type { Static } from 'typebox'
import { component, optionalText, optionalTime, Type, text, Uuid } from '../../kernel/contract.ts'

const warningCodes = [
  'key_compromised',
  'key_expires',
  'no_active_key',
  'vouched_keys_active',
  'key_awaits_approval',
  'api_key_expires',
  'api_key_unused',
] as const

const kind = {
  code: Type.Enum([...warningCodes], {
    description:
      '`key_compromised`: the private key of an active key is known to others. `key_expires`: an active key expires within 30 days, and no active key that outlives it has its label, was vouched for by it, or replaces it by a rotation. `no_active_key`: the project has keys, or keys for `jwks.json`, and none of them is active. `vouched_keys_active`: a key is deactivated, expired or deleted, and keys that it vouched for are active. `key_awaits_approval`: a key came through a registration link, and nobody has activated it. `api_key_expires`: within 30 days. `api_key_unused`: for 90 days.',
  }),
  severity: Type.Enum(['info', 'warning', 'critical'], {
    description:
      '`critical`: at once. An expiry is `critical` within a day, `warning` within 7 days, else `info`.',
  }),
}

const WarningKind = Type.Object(kind)

export const Warning = component('Warning', 'What needs attention before it breaks.', {
  ...kind,
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
    compromised: Type.Integer({ description: 'The active keys that are compromised.' }),
    off: Type.Integer(),
    expired: Type.Integer(),
  }),
  nextExpireTime: optionalTime('When the next active key expires.'),
  rotations: Type.Integer({ description: 'Rotations under way.' }),
  warnings: Type.Array(WarningKind, {
    description: 'The warnings about its keys, the most urgent first; their list says what to do.',
  }),
})
export type ProjectHealth = Static<typeof ProjectHealth>
