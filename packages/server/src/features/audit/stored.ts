import { type RowOf, table } from '../../kernel/storage/schema.ts'

/** Audited keys: the rules that each has passed, and the weaknesses reported in its ledger. */
export const keyAuditTable = table('key_audit', {
  project_id: 'key text',
  key_id: 'key text',
  /** Null until the key passes an audit. */
  passed_rules: 'nullable text',
  passed_time: 'nullable text',
  /** Intake codes, separated by spaces. */
  weaknesses: 'text',
})

declare module '../../kernel/storage/schema.ts' {
  interface Tables {
    key_audit: RowOf<typeof keyAuditTable>
  }
}
