import { setTimeout as delay } from 'node:timers/promises'
import { createRemoteJWKSet } from 'jose'
import { projectKeySet } from '../../client/src/verify.ts'

/** A verifier at its defaults. */
export interface Verifier {
  /** Resolves while the key is trusted. */
  trust(kid: string): Promise<unknown>
  close(): void
}

export const verifiers = {
  projectKeySet(issuer: string): Verifier {
    const keys = projectKeySet(issuer)
    return { trust: (kid) => keys({ alg: 'ES256', kid }), close: keys.close }
  },
  createRemoteJWKSet(issuer: string): Verifier {
    const keys = createRemoteJWKSet(new URL(`${issuer}/.well-known/jwks.json`))
    return { trust: (kid) => keys({ alg: 'ES256', kid }), close: () => {} }
  },
}
export type VerifierName = keyof typeof verifiers

/** Resolves when the verifier trusts the key. */
export async function untilTrusted(verifier: Verifier, kid: string): Promise<void> {
  for (;;) {
    const trusted = await verifier.trust(kid).then(
      () => true,
      () => false,
    )
    if (trusted) return
    await delay(2)
  }
}

/**
 * Milliseconds from then until the first question that the verifier refuses the key to; asks every
 * `pace` milliseconds. What it takes to answer is not trust: while it tries to load, nobody is let in.
 */
export async function untilRefused(
  verifier: Verifier,
  kid: string,
  since: number,
  pace: number,
): Promise<number> {
  for (;;) {
    const asked = performance.now()
    const refused = await verifier.trust(kid).then(
      () => false,
      () => true,
    )
    if (refused) return Math.max(0, asked - since)
    await delay(pace)
  }
}
