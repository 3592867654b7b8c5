import { type Static, Type } from 'typebox'
import { Time, Uuid } from './common.ts'

const Value = Type.Union([Type.String(), Type.Number(), Type.Boolean()])

export const Event = Type.Object(
  {
    revision: Type.Integer({ minimum: 1, description: 'The number of the event in its ledger.' }),
    type: Type.String({ examples: ['key.updated'] }),
    time: Time,
    actor: Type.Object(
      { apiKeyId: Type.Optional(Uuid), name: Type.String({ examples: ['deploy pipeline'] }) },
      {
        description:
          'The API key that asked for it; without an id, Pubring itself or a command run at the server.',
      },
    ),
    subject: Type.Object({
      type: Type.Enum(['project', 'key', 'api_key', 'registry']),
      id: Type.String(),
    }),
    changes: Type.Optional(
      Type.Record(
        Type.String(),
        Type.Object({ from: Type.Optional(Value), to: Type.Optional(Value) }),
        {
          description:
            'Member by member; without `from` there was none, without `to` there is none.',
        },
      ),
    ),
    requestId: Type.String(),
    hash: Type.String({
      description:
        "SHA-256 over the previous event's hash and this event's content: `pubring ledger verify` walks the chain.",
    }),
  },
  { $id: 'Event', description: 'A ledger event: one change, who made it and when.' },
)
export type Event = Static<typeof Event>
