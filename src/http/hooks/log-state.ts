import type { FastifyInstance } from 'fastify'
import { isStop } from '../../core/log/faults.ts'
import type { Log } from '../../core/log/log.ts'
import { describeCause } from './counted-log.ts'

/** Logs when this process can no longer extend the transparency log, and when it can again. */
export function addLogState(app: FastifyInstance, log: Log): void {
  let current: string | undefined
  log.onRun(({ fault, error }) => {
    if (error !== undefined) {
      const message = 'no checkpoint of the log could be signed'
      const cause = describeCause(error)
      app.countedLog.write({ level: 'error', code: 'log_failed', message, cause })
    } else if (fault !== current) {
      current = fault
      if (fault === undefined) app.log.info('checkpoints of the log are signed again')
      else if (isStop(fault))
        app.log.error(
          { code: fault },
          'the log has stopped, so that it does not fork: pubring status says what to do',
        )
      else app.log.warn({ code: fault }, 'another server signs the log')
    }
  })
}
