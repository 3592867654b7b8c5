import type { Static } from 'typebox'
import { component, flag, optionalText, Type, Uuid } from '../../kernel/contract.ts'
import { KeyState } from '../keys/contract.ts'

/** The member that the text was found in. */
const Matched = <Name extends string>(...names: Name[]) =>
  Type.Enum(names, { description: 'The member that the text was found in.' })

const KeyResult = Type.Object({
  type: Type.Enum(['key']),
  matched: Matched('kid', 'publishedKid', 'thumbprint', 'spkiSha256', 'sshFingerprint', 'label'),
  projectId: Uuid,
  projectName: optionalText('Absent if the project contradicts its ledger.'),
  kid: Uuid,
  publishedKid: Type.Optional(Type.String()),
  label: Type.String(),
  algorithm: Type.String(),
  state: KeyState,
})

const ProjectResult = Type.Object({
  type: Type.Enum(['project']),
  matched: Matched('id', 'name'),
  id: Uuid,
  name: Type.String(),
})

export const Search = component('Search', 'The keys and projects that were found.', {
  results: Type.Array(Type.Union([KeyResult, ProjectResult])),
  hasMore: flag('Whether there are more keys or projects than were asked for.'),
})
export type Search = Static<typeof Search>
