import process from 'node:process'
import { systemClock } from '../../runtime/clock.ts'
import { type ConnectionFlags, resolveConnection } from '../connection/connection.ts'
import { configureProxy } from '../connection/session.ts'
import { notify, type Terminal } from '../terminal/terminal.ts'
import { followOnce, followUntilAborted } from './follow.ts'
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
  } finally {
    process.off('SIGHUP', onHangup)
    restoreProxy()
  }
}
