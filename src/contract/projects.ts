import { type Static, Type } from 'typebox'
import { Time, Uuid } from './common.ts'

export const ProjectName = Type.String({
  minLength: 1,
  maxLength: 128,
  description:
    '1 to 128 characters of a-z, 0-9 and hyphen. It starts and ends with a letter or digit and is not a UUID. Upper case is converted to lower case.',
  examples: ['payments'],
})

export const Project = Type.Object(
  {
    id: Uuid,
    name: Type.String({ examples: ['payments'] }),
    revision: Type.Integer({
      minimum: 1,
      description: 'Increases by one with every change to the project or one of its keys.',
      examples: [7],
    }),
    createTime: Time,
    updateTime: Time,
  },
  { $id: 'Project', description: 'A project: a named set of JWT keys.' },
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
