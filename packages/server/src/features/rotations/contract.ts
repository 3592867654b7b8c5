import type { Static } from 'typebox'
import {
  Actor,
  component,
  described,
  optionalTime,
  requestBody,
  Time,
  Type,
  text,
  Uuid,
} from '../../kernel/contract.ts'

const TokenLifetime = Type.Integer({
  minimum: 1,
  maximum: 31_536_000,
  description:
    'Seconds that tokens are valid: the most that `exp` minus `iat` is. The old key stays active for as long after the rotation is finished.',
  examples: [900],
})

export const Rotation = component('Rotation', 'The replacement of one key by another.', {
  id: Uuid,
  projectId: Uuid,
  from: described(Uuid, 'Id of the old key.'),
  to: described(Uuid, 'Id of the new key.'),
  tokenLifetime: TokenLifetime,
  state: Type.Enum(['spreading', 'overlapping', 'finished', 'abandoned'], {
    description:
      '`spreading`: not every verifier knows the new key yet, or it is inactive, superseded or compromised. `overlapping`: every verifier that honors the cache headers knows both: let signers use the new one. `finished`: the end of the old key is set, or it is off or deleted. `abandoned`: given up, without any change of the keys.',
    examples: ['overlapping'],
  }),
  createTime: Time,
  updateTime: Time,
  startedBy: Actor,
  convergedTime: optionalTime(
    'From this time on, every verifier that honors the cache headers knows the new key; absent if that is inactive, superseded or compromised.',
  ),
  expireTime: optionalTime('When the old key expires.'),
  endTime: optionalTime('When it was finished or abandoned.'),
})
export type Rotation = Static<typeof Rotation>

const kid = (key: string) => text(`Id or \`publishedKid\` of the ${key} key, which must be active.`)

export const RotationCreate = requestBody('RotationCreate', {
  from: kid('old'),
  to: kid('new'),
  tokenLifetime: TokenLifetime,
})
export type RotationCreate = Static<typeof RotationCreate>

export const RotationUpdate = requestBody(
  'RotationUpdate',
  { tokenLifetime: Type.Optional(TokenLifetime) },
  { description: 'A merge patch (RFC 7396).' },
)
export type RotationUpdate = Static<typeof RotationUpdate>
