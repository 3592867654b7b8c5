import { existsSync, readFileSync } from 'node:fs'
import { expect, onTestFinished } from 'vitest'
import {
  type FollowOptions,
  followUntilAborted,
} from '../../../packages/agents/src/follow/follow.ts'
import { type FollowFlags, readFollowOptions } from '../../../packages/cli/src/follow/options.ts'
import { processTerminal } from '../../../packages/cli/src/terminal/terminal.ts'
import { testClock } from './clock.ts'

/** The options of `jwks follow` with these flags. */
export async function followOptions(
  url: string,
  projects: readonly string[],
  flags: Partial<FollowFlags>,
): Promise<FollowOptions> {
  const all = { format: 'jwks', staleAfter: '10m', ...flags }
  return readFollowOptions(url, projects, all, processTerminal())
}

/** A follower in this process, with a clock that can be moved; it is stopped after the test. */
export function startFollower(options: FollowOptions) {
  const controller = new AbortController()
  const clock = testClock()
  let looks = 0
  const now = () => {
    looks += 1
    return clock.now()
  }
  const reports: string[] = []
  let reload = () => {}
  const ended = followUntilAborted(options, {
    clock: { ...clock, now },
    signal: controller.signal,
    onReload(run) {
      reload = run
    },
    report: (message) => void reports.push(message),
  })
  const stop = async () => {
    controller.abort()
    await ended
  }
  onTestFinished(stop)
  return {
    clock,
    reports,
    stop,
    reload: () => reload(),
    /** Resolves when it has looked at the wall clock twice more, as it does once a second. */
    async looksTwice() {
      const before = looks
      await expect.poll(() => looks).toBeGreaterThan(before + 1)
    },
    /** The response of `--listen` to a path. */
    get(path: string, headers = {}): Promise<Response> {
      const [, base = ''] = /Serving the key sets at (\S+)\./.exec(reports.join('\n')) ?? []
      return fetch(base + path, { headers })
    },
  }
}

/** The kids in a JWKS file, which must be whole; undefined if there is none. */
export function kidsIn(file: string): string[] | undefined {
  if (!existsSync(file)) return undefined
  return JSON.parse(readFileSync(file, 'utf8')).keys.map(({ kid }: { kid: string }) => kid)
}
