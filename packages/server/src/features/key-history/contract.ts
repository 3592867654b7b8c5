import type { Static } from 'typebox'
import { component, Type, text, Uuid } from '../../kernel/contract.ts'
import { endReasonName } from '../keys/contract.ts'
import { jwkMembers } from '../publishing/contract.ts'

const seconds = (description: string) => Type.Integer({ description, examples: [1_790_000_000] })

const lifeMembers = {
  active_from: seconds('When the key was first active.'),
  inactive: Type.Optional(
    Type.Array(
      Type.Object({ from: seconds('The first second.'), until: seconds('The second after it.') }),
      {
        description:
          'The seconds between its activations in which it was not active: at most 100 ranges, of which the first may join several, with what lies between them.',
      },
    ),
  ),
  exp: Type.Optional(
    seconds('The end: when it was deactivated, or its `expireTime`, which may lie ahead.'),
  ),
  revoked: Type.Optional(
    Type.Object({
      revoked_at: seconds('`exp`, or when the key was found compromised, if that was earlier.'),
      reason: endReasonName(
        'A key that only expired is not revoked. Trust a `compromised` key at no time.',
      ),
    }),
  ),
}

export const KeyHistory = component(
  'KeyHistory',
  'The keys of a project that were ever active, and when, in seconds since 1970. A second counts only if the key was active during all of it.',
  {
    iss: text(
      'The issuer of the project.',
      'https://keys.example.com/v1/projects/019ac8f2-6c1e-7d53-a1b0-5f0e4c9d2b71',
    ),
    ledgerId: Uuid,
    revision: Type.Integer({ description: 'The last event that it accounts for.' }),
    head: text('Hash of that event: `ledger-proof` shows that the log has it.'),
    keys: Type.Array(
      Type.Object({ ...jwkMembers, iat: seconds('When it was registered.'), ...lifeMembers }),
      { description: 'Oldest first.' },
    ),
    deleted: Type.Array(
      Type.Object({
        kid: jwkMembers.kid,
        thumbprint: text('RFC 7638, SHA-256, base64url.'),
        ...lifeMembers,
        deleted_at: seconds('When it was deleted.'),
      }),
      { description: 'The last 1,000 that were deleted, in the order of their deletion.' },
    ),
  },
)
export type KeyHistory = Static<typeof KeyHistory>
