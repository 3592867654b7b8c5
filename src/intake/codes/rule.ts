/** The `code` of an error answer that a refusal at intake becomes. */
export type IntakeProblem =
  | 'invalid_key_pem'
  | 'private_key_submitted'
  | 'unsupported_key'
  | 'weak_key'
  | 'algorithm_mismatch'
  | 'compromised_key'

/** One rule of the key policy, as the user's page prints it. */
export interface IntakeRule {
  /** Its short name in the key policy: a letter for the subject and a number. */
  rule: string
  /** The coarse code of the error answer. */
  problem: IntakeProblem
  title: string
  /** Exactly what is refused, with thresholds and units. */
  rejects: string
  why: string
  /** Standards and prior findings that the rule rests on. */
  sources: readonly string[]
}
