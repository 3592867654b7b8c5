import process from 'node:process'
import { AgentError } from '@pubring/agents/error'
import type { FollowContext } from '@pubring/agents/follow/follow'
import { systemClock } from '@pubring/server/runtime/clock'
import { configureProxy } from '../connection/session.ts'
import { CommandError } from '../terminal/failures.ts'
import { notify, type Terminal } from '../terminal/terminal.ts'

/** Runs an agent until Ctrl-C or SIGTERM, which is its normal end, or `once`. */
export async function runAgent(
  terminal: Terminal,
  { once }: { once?: true },
  run: (context: FollowContext) => Promise<void>,
): Promise<void> {
  const restoreProxy = configureProxy(terminal.env)
  const signal = terminal.interruptSignal()
  terminal.requestsEnd = signal
  let reload = () => {}
  const onHangup = () => reload()
  process.on('SIGHUP', onHangup)
  try {
    await run({
      clock: systemClock,
      signal,
      onReload(action) {
        reload = action
      },
      report: (message) => notify(terminal, `${new Date().toISOString()} ${message}`),
    })
  } catch (error) {
    // An interruption breaks off requests, which is no failure.
    if (!signal.aborted) {
      throw error instanceof AgentError ? new CommandError(error.kind, error.message) : error
    }
  } finally {
    process.off('SIGHUP', onHangup)
    restoreProxy()
  }
  if (once !== true) terminal.exitCode = 0
}
