import type { Static } from 'typebox'
import {
  component,
  described,
  optionalText,
  optionalTime,
  Time,
  Type,
  text,
} from '../../kernel/contract.ts'
import { readVersion } from '../../runtime/version.ts'

export const Status = component('Status', 'The process that answers, and its database.', {
  version: text('The version of Pubring.', readVersion()),
  startTime: described(Time, 'When this process started.'),
  database: Type.Object({
    engine: Type.Enum(['SQLite', 'PostgreSQL']),
    primary: optionalText('Host and port of the primary in use.', 'db1.example.com:5432'),
    backupTime: optionalTime('When `pubring backup` last copied the whole database, with SQLite.'),
    contradictions: Type.Integer({
      description: 'Rows that contradict their ledgers, of those that this process has read.',
    }),
  }),
  heldRequests: Type.Integer({
    description:
      'Requests of followers and verifiers that this process holds until a key set changes.',
  }),
  followers: Type.Array(
    Type.Object({
      name: text('What it calls itself: the name of its host.', 'edge-1'),
      time: described(Time, 'Its last request, to the second.'),
      projects: Type.Integer({ description: 'How many projects it has asked for.', examples: [3] }),
    }),
    {
      description:
        'The followers whose requests this process has in memory, the last request first, 200 at most. Those that ask other replicas, or through a cache, are not among them, and anyone can claim a name.',
    },
  ),
})
export type Status = Static<typeof Status>
