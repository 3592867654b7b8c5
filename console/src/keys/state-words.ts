import type { KeyState } from '@pubring/client'

/** The meaning of a state for those who sign and verify, in the order of lists. */
export const stateMeanings: Record<KeyState, string> = {
  compromised: 'Others have its private key. Replace and revoke it now.',
  spreading: 'Verifiers are still loading it. Do not sign with it yet.',
  current: 'Every verifier knows it. You can sign with it.',
  previous: 'A rotation replaces it. Sign with the new key.',
  off: 'Not published. Its tokens are rejected.',
  expired: 'Past its expiry. Its tokens are rejected.',
}

export const keyStates = Object.keys(stateMeanings) as readonly KeyState[]
