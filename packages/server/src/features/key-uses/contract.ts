import type { Static } from 'typebox'
import {
  component,
  described,
  projectNamePattern,
  requestBody,
  Time,
  TimeInput,
  Type,
  text,
} from '../../kernel/contract.ts'

const ReporterName = Type.String({
  pattern: projectNamePattern.source,
  description: 'The name of the verifier: 1 to 128 of `a-z`, `0-9` and `-`.',
  examples: ['orders-api'],
})

/** Seconds between two reports, if the reporter does not say. */
export const defaultInterval = 3_600

export const KeyUseReport = requestBody('KeyUseReport', {
  reporter: ReporterName,
  interval: Type.Optional(
    Type.Integer({
      minimum: 60,
      maximum: 2_592_000,
      default: defaultInterval,
      description:
        'Seconds between two reports. After three of them without a report the verifier counts as silent.',
    }),
  ),
  uses: Type.Array(
    requestBody('ReportedKeyUse', {
      kid: Type.String({
        maxLength: 255,
        description: 'The `kid` of tokens that the verifier accepted.',
        examples: ['019ac8f2-6c1e-7d53-a1b0-5f0e4c9d2b71'],
      }),
      lastTime: described(
        TimeInput,
        'When the last of them was accepted. The future counts as now.',
      ),
      lastExp: Type.Optional(
        described(
          TimeInput,
          'The latest `exp` among them. It counts for a year after `lastTime` at most.',
        ),
      ),
    }),
    {
      maxItems: 500,
      description:
        'The keys that were used since the last report, or since the start of the verifier; empty if none was.',
    },
  ),
})
export type KeyUseReport = Static<typeof KeyUseReport>

export const KeyUsesReported = component('KeyUsesReported', 'What became of a report.', {
  unknown: Type.Array(Type.Integer(), {
    description:
      'Indexes in `uses` whose kid no key of the project has. Kids that are always unknown belong to another project.',
  }),
})
export type KeyUsesReported = Static<typeof KeyUsesReported>

export const KeyReporter = component('KeyReporter', 'A verifier that reports uses of keys.', {
  reporter: ReporterName,
  since: described(Time, 'It has reported without a gap from this time on.'),
  reportTime: described(Time, 'Its last report.'),
  silent: Type.Boolean({
    description: 'Whether three of its intervals have passed since then.',
    examples: [false],
  }),
})
export type KeyReporter = Static<typeof KeyReporter>

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
