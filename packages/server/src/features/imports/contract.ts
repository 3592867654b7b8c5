import type { Static } from 'typebox'
import {
  component,
  described,
  optionalText,
  requestBody,
  TimeInput,
  Uuid,
} from '../../kernel/contract/common.ts'
import { Type } from '../../kernel/contract/schema.ts'
import { newKeyMembers } from '../keys/contract.ts'

const timeInput = (description: string) => described(TimeInput, description)

export const KeyImportItem = requestBody(
  'KeyImportItem',
  {
    ...newKeyMembers,
    expireTime: Type.Optional(
      timeInput(
        'Must be in the future. With `createTime`, it must only be after `createTime`, because a restored key may have expired.',
      ),
    ),
    kid: optionalText(
      'Only for admins of all projects: the kid to restore, a lower-case UUID (RFC 9562). No project may ever have used it for other key material, even in a deleted key.',
      '019ac8f2-6c1e-7d53-a1b0-5f0e4c9d2b71',
    ),
    createTime: Type.Optional(
      timeInput('Only for admins of all projects: the time to restore, not in the future.'),
    ),
    updateTime: Type.Optional(
      timeInput(
        'Only for admins of all projects: the time to restore, not before `createTime`, which it requires, and not in the future.',
      ),
    ),
  },
  { anyOf: [{ required: ['name'] }, { required: ['label'] }] },
)
export type KeyImportItem = Static<typeof KeyImportItem>

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
