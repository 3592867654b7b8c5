import { type Static, Type } from 'typebox'
import { Time, Uuid } from './common.ts'

export const ProjectName = Type.String({
  minLength: 1,
  maxLength: 128,
  description:
    '1 to 128 of a-z, 0-9 and hyphen, starting and ending with a letter or digit, not shaped like a UUID. Upper case is folded to lower case.',
  examples: ['payments'],
})

export const Project = Type.Object(
  {
    id: Uuid,
    name: Type.String({ examples: ['payments'] }),
    revision: Type.Integer({
      minimum: 1,
      description: 'Raised by one by every change to the project or to one of its keys.',
      examples: [7],
    }),
    createTime: Time,
    updateTime: Time,
  },
  { $id: 'Project', description: 'A project: the owner of a set of JWT keys.' },
)
export type Project = Static<typeof Project>

export const ProjectCreate = Type.Object(
  { name: ProjectName },
  { $id: 'ProjectCreate', additionalProperties: false, examples: [{ name: 'payments' }] },
)
export type ProjectCreate = Static<typeof ProjectCreate>

export const ProjectUpdate = Type.Object(
  { name: Type.Optional(ProjectName) },
  { $id: 'ProjectUpdate', additionalProperties: false, examples: [{ name: 'payments' }] },
)
export type ProjectUpdate = Static<typeof ProjectUpdate>
