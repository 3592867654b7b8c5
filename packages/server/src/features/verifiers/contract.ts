import type { Static } from 'typebox'
import { component, described, Time, Type, text } from '../../kernel/contract.ts'

export const Verifiers = component(
  'Verifiers',
  'Who has fetched the key set of a project, as seen by one replica.',
  {
    since: described(Time, 'Fetches before are not known: the replica started, or had too many.'),
    verifiers: Type.Array(
      Type.Object({
        userAgent: text(
          'What the client calls itself, up to 200 characters; empty without it.',
          'pubring-follow (edge-1)',
        ),
        time: described(Time, 'Its last request, to the second.'),
        hasCurrentSet: Type.Boolean({
          description: 'Whether it then got, or already had, the keys that are published now.',
          examples: [true],
        }),
        held: Type.Integer({
          description: 'Its requests that are held until the key set changes.',
          examples: [1],
        }),
      }),
      { description: 'The last request first.' },
    ),
  },
)
export type Verifiers = Static<typeof Verifiers>
