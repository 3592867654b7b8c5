import { PubringError } from '../../errors.ts'
import type { ProjectRef } from '../context.ts'
import { isStorageUnavailable } from '../storage-faults.ts'
import type { KeySetRequest } from './held-requests.ts'
import type { LiveServices } from './live.ts'
import type { PublishedProject } from './publisher.ts'

/** A project whose key sets a caller follows, and the `keySetsTag` of those it has. */
export interface FollowedProject {
  ref: ProjectRef
  etag: string | undefined
}

/** What is published for a followed project, or why it cannot be read. */
export interface FollowedState<Project extends FollowedProject> {
  project: Project
  published: PublishedProject | PubringError
}

/** Identifies all published documents of a project. */
export function keySetsTag({ jwks, fullJwks, discovery }: PublishedProject): string {
  const tags = [jwks, fullJwks, discovery].map(({ etag }) => etag.slice(1, -1))
  return `"${tags.join('.')}"`
}

/** Whether the key sets differ from those that the caller has, or cannot be read. */
export function hasNews({ project, published }: FollowedState<FollowedProject>): boolean {
  return published instanceof PubringError || keySetsTag(published) !== project.etag
}

export function readFollowed<Project extends FollowedProject>(
  { readPublished }: LiveServices,
  projects: readonly Project[],
): Promise<FollowedState<Project>[]> {
  return Promise.all(
    projects.map(async (project) => ({
      project,
      published: await readPublished(project.ref).catch((error: unknown) => {
        if (error instanceof PubringError) return error
        throw error
      }),
    })),
  )
}

/**
 * Waits until the key sets of one of the projects change, for up to `waitMs` milliseconds. Undefined
 * if too many requests are held: this counts as one for each of the projects. `freshOnly`: rejects
 * as soon as this process may miss a change.
 */
export function waitForAny(
  { keySets }: LiveServices,
  states: readonly FollowedState<FollowedProject>[],
  { waitMs, ...held }: Pick<KeySetRequest, 'address' | 'freshOnly'> & { waitMs: number },
): { result: Promise<void>; cancel(): void } | undefined {
  const waiters = states.map(({ project: { ref }, published }) => {
    if (published instanceof PubringError) return undefined
    const ifNoneMatch = new Set([published.fullJwks.etag])
    return keySets.wait({ ref, keySet: 'fullJwks', ifNoneMatch, ...held }, published, waitMs)
  })
  const cancel = () => {
    for (const waiter of waiters) waiter?.cancel()
  }
  const changed = waiters.map(async (waiter) => {
    await waiter?.result.catch((error: unknown) => {
      if (held.freshOnly && isStorageUnavailable(error)) throw error
    })
  })
  if (!waiters.includes(undefined)) return { result: Promise.race(changed).finally(cancel), cancel }
  cancel()
  return undefined
}
