import { type RowOf, table } from '../../kernel/storage/schema.ts'

/** The rules that each key has passed in the last audit that examined it. */
export const passedKeyTable = table(
  'passed_key',
  { project_id: 'key text', key_id: 'key text', rules: 'text', time: 'text' },
  'it only saves work: `pubring audit --again` examines all keys',
)

declare module '../../kernel/storage/schema.ts' {
  interface Tables {
    passed_key: RowOf<typeof passedKeyTable>
  }
}
