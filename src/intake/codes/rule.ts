/** The `code` of the error response for a rejected key. */
type IntakeProblem =
  | 'invalid_key_pem'
  | 'private_key_submitted'
  | 'unsupported_key'
  | 'weak_key'
  | 'algorithm_mismatch'
  | 'compromised_key'

/** One rule of the key policy, as docs/key-policy.md prints it. */
export interface IntakeRule {
  /** Short name: a letter for the subject and a number. */
  rule: string
  problem: IntakeProblem
  title: string
  /** What exactly is rejected, with thresholds and units. */
  rejects: string
  why: string
  /** Standards and prior findings that support the rule. */
  sources: readonly string[]
}
