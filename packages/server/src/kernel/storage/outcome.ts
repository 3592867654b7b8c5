/** The result of a change. The caller rolls back a transaction that has not `changed` anything. */
export interface Outcome<Result> {
  result: Result
  changed: boolean
}
