import { type Static, Type } from 'typebox'
import { described, Time, TimeInput, Uuid } from './common.ts'
import { Event } from './events.ts'

const OptionalTime = (description: string) => Type.Optional(described(Time, description))

export const RotationSchedule = Type.Object({
  disableTime: OptionalTime('When the old key is deactivated.'),
  deleteTime: OptionalTime('When the old key is deleted.'),
  descendants: Type.Optional(
    Type.Boolean({
      description:
        'Whether active keys that the old key vouched for are deactivated too, apart from the new key.',
    }),
  ),
  scheduledBy: Event.properties.actor,
  waitingReason: Type.Optional(
    Type.String({
      description:
        'The step that was due was not taken, because its author could not have taken it then: the code of the error. It waits until a caller finishes the rotation or schedules it anew.',
      examples: ['invalid_api_key'],
    }),
  ),
  waitingDetail: Type.Optional(Type.String({ description: 'The same in words.' })),
})

export const Rotation = Type.Object(
  {
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
    convergedTime: OptionalTime(
      'From this time on, every verifier that honors the cache headers knows the new key; absent if that is inactive.',
    ),
    schedule: Type.Optional(RotationSchedule),
    endTime: OptionalTime('When it was finished or abandoned.'),
  },
  { $id: 'Rotation', description: 'The replacement of one key by another.' },
)
export type Rotation = Static<typeof Rotation>

const kid = (key: string) =>
  Type.String({ description: `Id or \`publishedKid\` of the ${key} key, which must be active.` })

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
    Type.Boolean({
      description:
        'Whether active keys that the old key vouched for are deactivated too, apart from the new key. Required if there are any.',
    }),
  ),
}

export const RotationCreate = Type.Object(
  { from: kid('old'), to: kid('new'), ...scheduleMembers },
  { $id: 'RotationCreate', additionalProperties: false },
)
export type RotationCreate = Static<typeof RotationCreate>

export const RotationUpdate = Type.Object(scheduleMembers, {
  $id: 'RotationUpdate',
  additionalProperties: false,
  description: 'A merge patch (RFC 7396) of the schedule; `null` clears a time.',
})
export type RotationUpdate = Static<typeof RotationUpdate>
