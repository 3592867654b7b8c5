import type { Kernel } from '../../kernel/kernel.ts'
import { isoTime } from '../../kernel/values/times.ts'
import { publisherOf } from '../publishing/publisher.ts'
import { keySetReadersOf } from '../publishing/readers.ts'
import type { Verifiers } from './contract.ts'

/** The user agents, the last requests first. */
export async function listVerifiers(kernel: Kernel, projectId: string): Promise<Verifiers> {
  const { fullJwks } = await publisherOf(kernel).published(projectId)
  const { since, byUserAgent } = keySetReadersOf(kernel).of(projectId)
  const verifiers = [...byUserAgent].map(([userAgent, { time, etag, held }]) => ({
    userAgent,
    time: isoTime(time),
    hasCurrentSet: etag === fullJwks.etag,
    held,
  }))
  return {
    since: isoTime(since),
    verifiers: verifiers.sort((one, other) => (one.time < other.time ? 1 : -1)),
  }
}
