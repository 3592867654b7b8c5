import type { Static } from 'typebox'
import { component, flag, optionalText, optionalTime, optionalUuid, Time, Uuid } from '../common.ts'
import { Type } from '../schema.ts'

/** The member that the text was found in. */
const Matched = <Name extends string>(...names: Name[]) =>
  Type.Enum(names, { description: 'The member that the text was found in.' })

const KeyResult = Type.Object(
  {
    type: Type.Enum(['key']),
    matched: Matched('kid', 'publishedKid', 'thumbprint', 'spkiSha256', 'label'),
    projectId: Uuid,
    projectName: optionalText('Absent if the project was deleted after the key.'),
    kid: Uuid,
    publishedKid: Type.Optional(Type.String()),
    label: Type.String(),
    algorithm: optionalText('Absent for a deleted key.'),
    active: Type.Boolean(),
    deleteTime: optionalTime('When the key was deleted; absent if it exists.'),
  },
  { description: 'A JWT key, or one that was deleted.' },
)

const ProjectResult = Type.Object({
  type: Type.Enum(['project']),
  matched: Matched('id', 'name'),
  id: Uuid,
  name: Type.String(),
})

const ApiKeyResult = Type.Object(
  {
    type: Type.Enum(['apiKey']),
    matched: Matched('id', 'prefix', 'name'),
    id: Uuid,
    name: Type.String(),
    prefix: Type.String(),
    active: Type.Boolean(),
    projectId: Type.Optional(Uuid),
  },
  { description: 'An API key, for its admins.' },
)

const EventResult = Type.Object({
  type: Type.Enum(['event']),
  matched: Matched('requestId'),
  projectId: optionalUuid('Absent for the ledger of the registry.'),
  revision: Type.Integer(),
  eventType: Type.String({ examples: ['key.updated'] }),
  time: Time,
  subject: Type.Object({ type: Type.String(), id: Type.String() }),
  label: optionalText('Of the subject, as it was then.'),
  requestId: Type.String(),
})

export const Search = component('Search', 'What was found: keys, projects, API keys and events.', {
  results: Type.Array(Type.Union([KeyResult, ProjectResult, ApiKeyResult, EventResult])),
  hasMore: flag(
    'Whether there are more results of some type than were asked for, or may be, as more ids begin with `q` than are looked through.',
  ),
})
export type Search = Static<typeof Search>
