import type { Static } from 'typebox'
import { component, Time, Type, text, Uuid } from '../../kernel/contract.ts'

const Checkpoint = text(
  'A signed checkpoint (C2SP tlog-checkpoint), with the cosignatures of witnesses.',
)

const base64 = (description: string) =>
  Type.String({ description: `${description}, in base64.`, contentEncoding: 'base64' })

export const LogTree = component(
  'LogTree',
  'The tree of the log that grows, with its last checkpoint.',
  {
    origin: text(
      'Name of the tree: its public URL without the scheme.',
      'keys.example.com/log/3c1f5a07',
    ),
    verifierKey: text('What verifies its checkpoints: a "vkey" of C2SP signed-note.'),
    size: Type.Integer({ minimum: 0, description: 'Number of entries.' }),
    checkpoint: Checkpoint,
  },
)
export type LogTree = Static<typeof LogTree>

export const LedgerProof = component(
  'LedgerProof',
  'Shows that the log has the hash of an event of a ledger, and of all before it.',
  {
    ledgerId: Uuid,
    revision: Type.Integer({
      minimum: 1,
      description: 'Revision of the event that the entry names.',
    }),
    head: text('Hash of that event.'),
    time: Time,
    blinding: base64('The secret by which all entries of this ledger can be found'),
    index: Type.Integer({ minimum: 0, description: 'Position of the entry in the tree.' }),
    hashes: Type.Array(base64('A hash of the inclusion proof (RFC 6962)')),
    checkpoint: Checkpoint,
    proof: text('All of it as one text (C2SP tlog-proof), for `pubring ledger verify`.'),
  },
)
export type LedgerProof = Static<typeof LedgerProof>
