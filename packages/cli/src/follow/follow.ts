import { followOnce, followUntilAborted } from '@pubring/agents/follow/follow'
import { type ConnectionFlags, resolveConnection } from '../connection/connection.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { runAgent } from './agent.ts'
import { type FollowFlags, readFollowOptions } from './options.ts'

/** Follows the key sets until the process is told to end, or once. SIGHUP fetches and writes all again. */
export async function followKeySets(
  terminal: Terminal,
  projects: string[],
  flags: FollowFlags & ConnectionFlags,
): Promise<void> {
  const { url } = resolveConnection(terminal.env, flags)
  const options = await readFollowOptions(url, projects, flags, terminal)
  const follow = flags.once === true ? followOnce : followUntilAborted
  await runAgent(terminal, flags, (context) => follow(options, context))
}
