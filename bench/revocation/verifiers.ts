import { setTimeout as delay } from 'node:timers/promises'
import { createRemoteJWKSet } from 'jose'
import { projectKeySet } from '../../packages/client/src/verify.ts'

/** A verifier with default options. */
export interface Verifier {
  /** Resolves if the key is trusted, rejects otherwise. */
  requireTrusted(kid: string): Promise<unknown>
  close(): void
}

export const verifiers = {
  projectKeySet(issuer: string): Verifier {
    const keys = projectKeySet(issuer)
    return { requireTrusted: (kid) => keys({ alg: 'ES256', kid }), close: keys.close }
  },
  createRemoteJWKSet(issuer: string): Verifier {
    const keys = createRemoteJWKSet(new URL(`${issuer}/.well-known/jwks.json`))
    return { requireTrusted: (kid) => keys({ alg: 'ES256', kid }), close: () => {} }
  },
}
export type VerifierName = keyof typeof verifiers

function isTrusted(verifier: Verifier, kid: string): Promise<boolean> {
  return verifier.requireTrusted(kid).then(
    () => true,
    () => false,
  )
}

/** Resolves when the verifier trusts the key. */
export async function untilTrusted(verifier: Verifier, kid: string): Promise<void> {
  while (!(await isTrusted(verifier, kid))) await delay(2)
}

/**
 * Milliseconds from `since` until the start of the first check that rejects the key. The duration of
 * that check does not count: no token is accepted while it loads the key set.
 */
export async function untilRejected(
  verifier: Verifier,
  kid: string,
  since: number,
  intervalMs: number,
): Promise<number> {
  for (;;) {
    const start = performance.now()
    if (!(await isTrusted(verifier, kid))) return Math.max(0, start - since)
    await delay(intervalMs)
  }
}
