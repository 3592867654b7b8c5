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
    report_time: 'text',
    /** The request of the last report, which tells a repeated attempt. */
    request_id: 'text',
  },
  [],
  onlyShown,
)

/** The last use of each key by each reporter. */
export const keyUseTable = table(
  'key_use',
  {
    project_id: 'key text',
    reporter: 'key text',
    key_id: 'key text',
    last_time: 'text',
    /** The latest `exp` of the tokens. */
    last_exp: 'nullable text',
  },
  // Each finds the last of a key among those of all reporters without reading the others.
  [
    'index key_use_time on key_use (project_id, key_id, last_time)',
    'index key_use_exp on key_use (project_id, key_id, last_exp)',
  ],
  onlyShown,
)

/** Changes with each report of a project, and validates what was read before. */
export const keyUseVersionTable = table(
  'key_use_version',
  { project_id: 'key text', version: 'text' },
  [],
  onlyShown,
)

declare module '../../kernel/storage/schema.ts' {
  interface Tables {
    key_reporter: RowOf<typeof keyReporterTable>
    key_use: RowOf<typeof keyUseTable>
    key_use_version: RowOf<typeof keyUseVersionTable>
  }
}

export type ReporterRow = RowOf<typeof keyReporterTable>
export type KeyUseRow = RowOf<typeof keyUseTable>

/** Intervals without a report after which a verifier counts as silent. */
const silentIntervals = 3

/** The time (epoch milliseconds) from which the reporter is silent, unless it reports again. */
export function silentFrom({ report_time, report_interval }: ReporterRow): number {
  return Date.parse(report_time) + silentIntervals * report_interval * 1_000
}
