import type { Static } from 'typebox'
import {
  component,
  mergePatch,
  optionalText,
  requestBody,
  Time,
  Type,
  Uuid,
} from '../../kernel/contract.ts'

export const ProjectName = Type.String({
  minLength: 1,
  maxLength: 128,
  description:
    '1 to 128 characters of a-z, 0-9 and hyphen. It starts and ends with a letter or digit and is not a UUID. Upper case is converted to lower case.',
  examples: ['payments'],
})

export const Project = component('Project', 'A project: a named set of JWT keys.', {
  id: Uuid,
  name: Type.String({ examples: ['payments'] }),
  revision: Type.Integer({
    minimum: 1,
    description: 'Increases by one with every change to the project or one of its keys.',
    examples: [7],
  }),
  createTime: Time,
  updateTime: Time,
})
export type Project = Static<typeof Project>

export const ProjectCreate = requestBody(
  'ProjectCreate',
  {
    name: ProjectName,
    id: optionalText(
      'The id that the project had elsewhere, so that its issuer and addresses stay: a lower-case UUID of which there is no ledger. Default: a new one.',
      '019ac8f2-6c1e-7d53-a1b0-5f0e4c9d2b71',
    ),
    dryRun: Type.Optional(
      Type.Boolean({
        default: false,
        description: '`true`: return the project (200), or the error, without storing anything.',
      }),
    ),
  },
  { examples: [{ name: 'payments' }] },
)
export type ProjectCreate = Static<typeof ProjectCreate>

export const ProjectUpdate = mergePatch('ProjectUpdate', { name: ProjectName })
export type ProjectUpdate = Static<typeof ProjectUpdate>
