import type { Static } from 'typebox'
import {
  Actor,
  component,
  optionalText,
  optionalUuid,
  Time,
  Type,
  text,
} from '../../kernel/contract.ts'

const Value = Type.Union([Type.String(), Type.Number(), Type.Boolean()])

export const Event = component('Event', 'A ledger event: a change, who made it and when.', {
  revision: Type.Integer({ minimum: 1, description: 'Number of the event in its ledger.' }),
  type: Type.String({ examples: ['key.updated'] }),
  time: Time,
  actor: Actor,
  subject: Type.Object({
    type: Type.Enum([
      'project',
      'key',
      'rotation',
      'registration_link',
      'api_key',
      'access_rule',
      'session',
      'person',
      'registry',
      'ledger',
      'token',
    ]),
    id: Type.String(),
  }),
  label: optionalText(
    'Label or name that the subject had then, of keys, projects, API keys and access rules. It is taken from earlier events, and the hash does not cover it here. Absent if it was not among the last 100 events of the subject.',
  ),
  changes: Type.Optional(
    Type.Record(
      Type.String(),
      Type.Object({ from: Type.Optional(Value), to: Type.Optional(Value) }),
      {
        description:
          'Old (`from`) and new (`to`) value of each changed member. Either is absent if the member had or has no value. `state` is the SHA-256 of the stored row after the change.',
      },
    ),
  ),
  published: Type.Optional(
    Type.Object(
      { list: Type.String(), jwks: Type.String(), jwksFull: Type.String() },
      {
        description:
          'What the project publishes after the change, in events of projects: SHA-256 in base64url of the list of published keys, and of the bytes of `jwks.json` and `jwks-full.json`.',
      },
    ),
  ),
  requestId: Type.String(),
  hash: text(
    'SHA-256 over the hash of the previous event and the content of this one. `pubring ledger verify` checks this chain.',
  ),
})
export type Event = Static<typeof Event>

export const HistoryEvent = component('HistoryEvent', 'An event, with its ledger.', {
  ...Event.properties,
  projectId: optionalUuid(
    'The project whose ledger has the event; absent for that of the registry.',
  ),
  projectName: optionalText('Its present name; absent if it was deleted.'),
})
export type HistoryEvent = Static<typeof HistoryEvent>
