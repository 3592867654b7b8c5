import { setTimeout as delay } from 'node:timers/promises'
import { startCachingProxy } from '../../test/support/network/caching-proxy.ts'
import { startTcpProxy } from '../../test/support/network/tcp-proxy.ts'
import { type Registry, through } from './service.ts'
import { untilRefused, untilTrusted, type Verifier, type VerifierName, verifiers } from './trust.ts'

/** Milliseconds between two looks where seconds count. */
const slowPace = 100

/** One key after another, with one verifier that has nothing in between. */
export async function measureDirect(registry: Registry, count: number): Promise<number[]> {
  const verifier = verifiers.projectKeySet(registry.issuer)
  const times: number[] = []
  for (let done = 0; done < count; done += 1) {
    const kid = await registry.register()
    await untilTrusted(verifier, kid)
    // At any moment of the service's looks at its store, not in step with them.
    await delay(Math.random() * 500)
    times.push(await untilRefused(verifier, kid, await registry.deactivate(kid), 1))
    await registry.remove(kid)
  }
  verifier.close()
  return times
}

/** The same with many keys at once, for verifiers that take minutes. */
export async function measureSlow(
  registry: Registry,
  name: VerifierName,
  count: number,
): Promise<number[]> {
  return together(registry, name, registry.issuer, count, 0)
}

/**
 * Behind a cache that obeys `max-age` and knows nothing of `Prefer`; deactivated at any moment of the
 * milliseconds given.
 */
export async function measureCached(
  registry: Registry,
  name: VerifierName,
  count: number,
  within: number,
): Promise<number[]> {
  const proxy = await startCachingProxy(registry.origin)
  try {
    return await together(registry, name, through(proxy.url, registry), count, within)
  } finally {
    await proxy.close()
  }
}

/**
 * Many keys with a verifier each, all of them loaded at first. Each key is deactivated at any moment
 * of the milliseconds given.
 */
async function together(
  registry: Registry,
  name: VerifierName,
  issuer: string,
  count: number,
  within: number,
): Promise<number[]> {
  const pairs = await trusting(registry, name, issuer, count)
  const times = pairs.map(async ({ kid, verifier }) => {
    await delay(Math.random() * within)
    return untilRefused(verifier, kid, await registry.deactivate(kid), slowPace)
  })
  const measured = await Promise.all(times)
  for (const { verifier } of pairs) verifier.close()
  return measured
}

async function trusting(
  registry: Registry,
  name: VerifierName,
  issuer: string,
  count: number,
): Promise<{ kid: string; verifier: Verifier }[]> {
  const kids = await Promise.all(Array.from({ length: count }, () => registry.register()))
  const pairs = kids.map((kid) => ({ kid, verifier: verifiers[name](issuer) }))
  for (const { kid, verifier } of pairs) {
    await untilTrusted(verifier, kid)
    await delay(Math.random() * 500)
  }
  return pairs
}

/** The line breaks, or goes silent, at the moment at which the keys are deactivated. */
export async function measureCut(
  registry: Registry,
  name: VerifierName,
  count: number,
  fault: 'cut' | 'block',
): Promise<number[]> {
  const line = await startTcpProxy(Number(new URL(registry.origin).port))
  const issuer = through(`http://127.0.0.1:${line.port}`, registry)
  const pairs = await trusting(registry, name, issuer, count)
  line[fault]()
  const times = pairs.map(async ({ kid, verifier }) =>
    untilRefused(verifier, kid, await registry.deactivate(kid), slowPace),
  )
  const measured = await Promise.all(times)
  for (const { verifier } of pairs) verifier.close()
  await line.close()
  return measured
}
