import process from 'node:process'
import { FollowError } from '@pubring/agents/follow/error'
import { followOnce, followUntilAborted } from '@pubring/agents/follow/follow'
import { systemClock } from '@pubring/server/runtime/clock'
import { type ConnectionFlags, resolveConnection } from '../connection/connection.ts'
import { configureProxy } from '../connection/session.ts'
import { CommandError } from '../terminal/failures.ts'
import { notify, type Terminal } from '../terminal/terminal.ts'
import { type FollowFlags, readFollowOptions } from './options.ts'

/** Follows the key sets until Ctrl-C or SIGTERM, or once. SIGHUP fetches and writes all again. */
export async function followKeySets(
  terminal: Terminal,
  projects: string[],
  flags: FollowFlags & ConnectionFlags,
): Promise<void> {
  const { url } = resolveConnection(terminal.env, flags)
  const options = await readFollowOptions(url, projects, flags, terminal)
  const restoreProxy = configureProxy(terminal.env)
  const signal = terminal.interruptSignal()
  let reload = () => {}
  const onHangup = () => reload()
  process.on('SIGHUP', onHangup)
  try {
    const follow = flags.once === true ? followOnce : followUntilAborted
    await follow(options, {
      clock: systemClock,
      signal,
      onReload(run) {
        reload = run
      },
      report: (message) => notify(terminal, `${new Date().toISOString()} ${message}`),
    })
    // SIGTERM is the normal end.
    if (flags.once !== true) terminal.exitCode = 0
  } catch (error) {
    throw error instanceof FollowError ? new CommandError(error.kind, error.message) : error
  } finally {
    process.off('SIGHUP', onHangup)
    restoreProxy()
  }
}
