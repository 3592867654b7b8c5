import type { Static } from 'typebox'
import { component, Time, Type, text, Uuid } from '../../kernel/contract.ts'

const Checkpoint = text(
  'A signed checkpoint (C2SP tlog-checkpoint), with the cosignatures of witnesses.',
)

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
    checkpoint: Checkpoint,
    proof: text(
      'The proof (C2SP tlog-proof), for `pubring ledger verify`, with the secret by which all entries of this ledger can be found.',
    ),
  },
)
export type LedgerProof = Static<typeof LedgerProof>
