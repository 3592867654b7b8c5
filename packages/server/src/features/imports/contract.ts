import type { Static } from 'typebox'
import { component, requestBody, Type, Uuid } from '../../kernel/contract.ts'

export const KeyImport = requestBody('KeyImport', {
  keys: Type.Array(Type.Ref('KeyImportItem#'), {
    description: 'The keys. The report has the same order.',
  }),
  dryRun: Type.Optional(
    Type.Boolean({
      default: false,
      description: '`true`: return the same response without storing anything.',
    }),
  ),
})

const Usage = (description: string) =>
  Type.Object(
    { before: Type.Integer(), after: Type.Integer(), limit: Type.Integer() },
    { description },
  )

export const KeyImportReport = component('KeyImportReport', 'All keys are registered.', {
  created: Type.Integer({ description: 'Number of registered keys.', examples: [2] }),
  present: Type.Integer({
    description: 'Number of keys that the project already had.',
    examples: [1],
  }),
  items: Type.Array(
    Type.Object({
      outcome: Type.Enum(['created', 'present'], { examples: ['created'] }),
      kid: Uuid,
    }),
    { description: 'The outcome of each key, in the order of the request.' },
  ),
  room: Type.Object(
    {
      keys: Usage('Number of keys in the project, active or not.'),
      jwksBytes: Usage('Size of its key set in bytes.'),
    },
    { description: 'Usage of the limits of the project before and after the import.' },
  ),
})
export type KeyImportReport = Static<typeof KeyImportReport>
