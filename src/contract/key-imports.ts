import { type Static, Type } from 'typebox'
import { TimeInput, Uuid } from './common.ts'
import { AlgorithmName, PublicKeyPemInput } from './keys.ts'

const moment = (description: string) => Type.Unsafe<string>({ ...TimeInput, description })

export const KeyImportItem = Type.Object(
  {
    name: Type.Optional(
      Type.String({
        description: 'The label: 1 to 255 code points. Required (as `name` or as `label`).',
        examples: ['orders service, spring 2026'],
      }),
    ),
    label: Type.Optional(Type.String({ description: 'Another spelling of `name`.' })),
    algorithm: AlgorithmName,
    publicKeyPem: PublicKeyPemInput,
    active: Type.Optional(Type.Boolean({ default: true, examples: [true] })),
    expireTime: Type.Optional(
      moment('In the future; with `createTime`, any time after that: a key may come back expired.'),
    ),
    kid: Type.Optional(
      Type.String({
        description:
          'For an admin of all projects: a lower-case UUID (RFC 9562) that the key keeps. It is never given to other material than it once had, in any project, deleted keys included.',
        examples: ['019ac8f2-6c1e-7d53-a1b0-5f0e4c9d2b71'],
      }),
    ),
    createTime: Type.Optional(moment('For an admin of all projects: kept. Not in the future.')),
    updateTime: Type.Optional(
      moment(
        'For an admin of all projects: kept. Not in the future, not before `createTime`, which it needs.',
      ),
    ),
  },
  {
    $id: 'KeyImportItem',
    additionalProperties: false,
    anyOf: [{ required: ['name'] }, { required: ['label'] }],
  },
)
export type KeyImportItem = Static<typeof KeyImportItem>

export const KeyImport = Type.Object(
  {
    keys: Type.Array(Type.Ref('KeyImportItem#'), {
      description: 'The keys, in the order of the report.',
    }),
    dryRun: Type.Optional(
      Type.Boolean({ default: false, description: '`true`: the same answer, nothing is stored.' }),
    ),
  },
  { $id: 'KeyImport', additionalProperties: false },
)

const Room = (description: string) =>
  Type.Object(
    {
      before: Type.Integer(),
      after: Type.Integer(),
      limit: Type.Integer(),
    },
    { description },
  )

export const KeyImportReport = Type.Object(
  {
    created: Type.Integer({ description: 'Keys that were registered.', examples: [2] }),
    present: Type.Integer({ description: 'Keys that were there already.', examples: [1] }),
    items: Type.Array(
      Type.Object({
        outcome: Type.Enum(['created', 'present'], { examples: ['created'] }),
        kid: Uuid,
      }),
      { description: 'What became of each key, in the order given.' },
    ),
    room: Type.Object(
      {
        keys: Room('Keys that the project has, active or not.'),
        jwksBytes: Room('Size of its key set.'),
      },
      { description: 'How far the import fills the project.' },
    ),
  },
  { $id: 'KeyImportReport', description: 'All keys are registered now.' },
)
export type KeyImportReport = Static<typeof KeyImportReport>
