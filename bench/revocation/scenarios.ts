import { setTimeout as delay } from 'node:timers/promises'
import { startCachingProxy } from '../../test/support/network/caching-proxy.ts'
import { startTcpProxy } from '../../test/support/network/tcp-proxy.ts'
import { type BenchProject, issuerVia } from './project.ts'
import {
  untilRejected,
  untilTrusted,
  type Verifier,
  type VerifierName,
  verifiers,
} from './verifiers.ts'

const pollIntervalMs = 100

/** Keys of the project, each measured with a verifier of its own. */
export interface Scenario {
  project: BenchProject
  verifier: VerifierName
  keys: number
  /** Keys are deactivated at random times within this many milliseconds. */
  spreadMs?: number
}

/** One key after another, with one live verifier and a direct connection. */
export async function measureDirect(project: BenchProject, keys: number): Promise<number[]> {
  const verifier = verifiers.projectKeySet(project.issuer)
  const times: number[] = []
  for (let done = 0; done < keys; done += 1) {
    const kid = await project.register()
    await untilTrusted(verifier, kid)
    // At a random time between two polls of the store, not in step with them.
    await delay(Math.random() * 500)
    times.push(await untilRejected(verifier, kid, await project.deactivate(kid), 1))
    await project.remove(kid)
  }
  verifier.close()
  return times
}

/** All keys at once over a direct connection, for verifiers that take minutes. */
export async function measureSlow(scenario: Scenario): Promise<number[]> {
  return measureConcurrently(scenario, scenario.project.issuer)
}

/** Behind a cache that obeys `max-age` and ignores `Prefer`. */
export async function measureCached(scenario: Scenario): Promise<number[]> {
  const { project } = scenario
  const proxy = await startCachingProxy(project.origin)
  try {
    return await measureConcurrently(scenario, issuerVia(proxy.url, project))
  } finally {
    await proxy.close()
  }
}

/** The connection breaks, or goes silent, when the keys are deactivated. */
export async function measureCut(scenario: Scenario, fault: 'cut' | 'block'): Promise<number[]> {
  const { project } = scenario
  const proxy = await startTcpProxy(Number(new URL(project.origin).port))
  try {
    const issuer = issuerVia(`http://127.0.0.1:${proxy.port}`, project)
    return await measureConcurrently(scenario, issuer, proxy[fault])
  } finally {
    await proxy.close()
  }
}

/** Loads all verifiers first, then deactivates all keys. */
async function measureConcurrently(
  { project, verifier: name, keys, spreadMs = 0 }: Scenario,
  issuer: string,
  onceTrusted = () => {},
): Promise<number[]> {
  const kids = await Promise.all(Array.from({ length: keys }, () => project.register()))
  const pairs = kids.map((kid): [string, Verifier] => [kid, verifiers[name](issuer)])
  for (const [kid, verifier] of pairs) {
    await untilTrusted(verifier, kid)
    await delay(Math.random() * 500)
  }
  onceTrusted()
  const times = await Promise.all(
    pairs.map(async ([kid, verifier]) => {
      await delay(Math.random() * spreadMs)
      return untilRejected(verifier, kid, await project.deactivate(kid), pollIntervalMs)
    }),
  )
  for (const [, verifier] of pairs) verifier.close()
  return times
}
