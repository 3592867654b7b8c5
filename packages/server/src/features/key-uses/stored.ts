import { type RowOf, table } from '../../kernel/storage/schema.ts'

const onlyShown = 'it is only shown; a report has no event'

/** The verifiers that report uses of keys. */
export const keyReporterTable = table(
  'key_reporter',
  {
    project_id: 'key text',
    reporter: 'key text',
    /** The id of the API key or person, or the rule and the workload, that used the name first. */
    owner: 'text',
    /** Seconds between its reports, as it says itself. */
    report_interval: 'integer',
    /** It has reported without a gap from this time on. */
    since: 'text',
    /** Epoch milliseconds of its last report. */
    report_time: 'bigint',
    /** The request of the last report, which tells a repeated attempt. */
    request_id: 'text',
  },
  onlyShown,
)

/** The last use of each key by each reporter. */
export const keyUseTable = table(
  'key_use',
  {
    project_id: 'key text',
    reporter: 'key text',
    key_id: 'key text',
    /** Epoch milliseconds, as `last_exp`. */
    last_time: 'bigint',
    /** The latest `exp` of the tokens; 0 is none. */
    last_exp: 'bigint',
  },
  onlyShown,
)

declare module '../../kernel/storage/schema.ts' {
  interface Tables {
    key_reporter: RowOf<typeof keyReporterTable>
    key_use: RowOf<typeof keyUseTable>
  }
}

/** In epoch milliseconds; 0 is none. */
export interface Use {
  time: number
  /** The latest `exp` of the tokens. */
  exp: number
}

export type Reporter = RowOf<typeof keyReporterTable>

/** The last of several uses of a key. */
export function lastOf(uses: readonly Use[]): Use {
  const latest = (member: keyof Use) => Math.max(0, ...uses.map((use) => use[member]))
  return { time: latest('time'), exp: latest('exp') }
}

/** Intervals without a report after which a verifier counts as silent. */
const silentIntervals = 3

/** The time (epoch milliseconds) from which the reporter is silent, unless it reports again. */
export function silentFrom({ report_time, report_interval }: Reporter): number {
  return report_time + silentIntervals * report_interval * 1_000
}
