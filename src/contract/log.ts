import { type Static, Type } from 'typebox'
import { Time, Uuid } from './common.ts'

const Checkpoint = Type.String({
  description: 'A signed checkpoint (C2SP tlog-checkpoint), with the cosignatures of witnesses.',
})

const base64 = (description: string) =>
  Type.String({ description: `${description}, in base64.`, contentEncoding: 'base64' })

export const LogTree = Type.Object(
  {
    epoch: Type.Integer({ minimum: 1 }),
    origin: Type.String({
      description: 'Name of the tree: the public URL of the log without its scheme.',
      examples: ['keys.example.com/log'],
    }),
    verifierKey: Type.String({
      description: 'What verifies its checkpoints: a "vkey" of C2SP signed-note.',
    }),
    size: Type.Integer({ minimum: 0, description: 'Number of entries.' }),
    checkpoint: Checkpoint,
  },
  { $id: 'LogTree', description: 'The tree of the log that grows, with its last checkpoint.' },
)
export type LogTree = Static<typeof LogTree>

export const LedgerProof = Type.Object(
  {
    ledgerId: Uuid,
    revision: Type.Integer({ minimum: 1, description: 'Of the event that the entry names.' }),
    head: Type.String({ description: 'Hash of that event.' }),
    time: Time,
    blinding: base64('The secret by which all entries of this ledger can be found'),
    index: Type.Integer({ minimum: 0, description: 'Position of the entry in the tree.' }),
    hashes: Type.Array(base64('A hash of the inclusion proof (RFC 6962)')),
    checkpoint: Checkpoint,
    proof: Type.String({
      description: 'All of it as one text (C2SP tlog-proof), for `pubring ledger verify`.',
    }),
  },
  {
    $id: 'LedgerProof',
    description: 'Shows that the log has the hash of an event of a ledger, and of all before it.',
  },
)
export type LedgerProof = Static<typeof LedgerProof>
