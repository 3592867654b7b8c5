/** Globals that tell the runtime; not all have them. */
type Host = { navigator?: { userAgent?: string }; EdgeRuntime?: unknown }

/**
 * Whether the runtime binds I/O to the request that it serves, as Cloudflare Workers and Vercel's Edge
 * Functions do. What a request has started ends with it, and others cannot wait for it: timers, abort
 * signals and pending promises must not be kept from one request to the next.
 */
export function isRequestBound(): boolean {
  const { navigator, EdgeRuntime } = globalThis as Host
  return navigator?.userAgent === 'Cloudflare-Workers' || EdgeRuntime !== undefined
}

/** Concurrent callers share one run; if it is not `shared`, each has its own. */
export function createSingleFlight<Result>(
  run: () => Promise<Result>,
  shared: boolean,
): () => Promise<Result> {
  if (!shared) return run
  let inFlight: Promise<Result> | undefined
  return () => {
    inFlight ??= run().finally(() => {
      inFlight = undefined
    })
    return inFlight
  }
}
