import type { Static } from 'typebox'
import {
  component,
  described,
  flag,
  optionalText,
  optionalTime,
  requestBody,
  Time,
  TimeInput,
  text,
  Uuid,
} from './common.ts'
import { Event } from './events.ts'
import { Type } from './schema.ts'

export const RotationSchedule = Type.Object({
  disableTime: optionalTime('When the old key is deactivated.'),
  deleteTime: optionalTime('When the old key is deleted.'),
  descendants: Type.Optional(
    flag(
      'Whether active keys that the old key vouched for are deactivated too, apart from the new key.',
    ),
  ),
  scheduledBy: Event.properties.actor,
  waitingReason: optionalText(
    'The step that was due was not taken, because its author could not have taken it then: the code of the error. It waits until a caller finishes the rotation or schedules it anew.',
    'invalid_api_key',
  ),
  waitingDetail: optionalText('The same in words.'),
})

export const Rotation = component('Rotation', 'The replacement of one key by another.', {
  id: Uuid,
  projectId: Uuid,
  from: described(Uuid, 'Id of the old key.'),
  to: described(Uuid, 'Id of the new key.'),
  state: Type.Enum(['spreading', 'overlapping', 'finished', 'abandoned'], {
    description:
      '`spreading`: not every verifier knows the new key yet, or it is inactive. `overlapping`: every verifier that honors the cache headers knows both: let signers use the new one. `finished`: the old key is off or deleted. `abandoned`: given up, without any change of the keys.',
    examples: ['overlapping'],
  }),
  createTime: Time,
  updateTime: Time,
  startedBy: Event.properties.actor,
  convergedTime: optionalTime(
    'From this time on, every verifier that honors the cache headers knows the new key; absent if that is inactive.',
  ),
  schedule: Type.Optional(RotationSchedule),
  endTime: optionalTime('When it was finished or abandoned.'),
})
export type Rotation = Static<typeof Rotation>

const kid = (key: string) => text(`Id or \`publishedKid\` of the ${key} key, which must be active.`)

const scheduleMembers = {
  disableTime: Type.Optional(
    Type.Union([TimeInput, Type.Null()], {
      description:
        'When to deactivate the old key: when the last token that it signed has expired. Not before every verifier knows the new one.',
    }),
  ),
  deleteTime: Type.Optional(
    Type.Union([TimeInput, Type.Null()], {
      description: 'When to delete the old key: once no verifier trusts it any more.',
    }),
  ),
  descendants: Type.Optional(
    flag(
      'Whether active keys that the old key vouched for are deactivated too, apart from the new key. Required if there are any.',
    ),
  ),
}

export const RotationCreate = requestBody('RotationCreate', {
  from: kid('old'),
  to: kid('new'),
  ...scheduleMembers,
})
export type RotationCreate = Static<typeof RotationCreate>

export const RotationUpdate = requestBody('RotationUpdate', scheduleMembers, {
  description: 'A merge patch (RFC 7396) of the schedule; `null` clears a time.',
})
export type RotationUpdate = Static<typeof RotationUpdate>
