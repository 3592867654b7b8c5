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
          'the log has stopped, so that it does not fork: pubring doctor says what to do',
        )
      else app.log.warn({ code: fault }, 'another server signs the log')
    }
  })
  logWitnesses(app, log)
}

/** Logs when a witness no longer cosigns, or contradicts the log, and when it cosigns again. */
function logWitnesses(app: FastifyInstance, log: Log): void {
  const outcomes = new Map<string, string>()
  log.onRun(() => {
    for (const result of log.witnesses()) {
      const { name: witness, outcome } = result
      const before = outcomes.get(witness) ?? 'cosigned'
      outcomes.set(witness, outcome)
      if (outcome === before) continue
      if (outcome === 'cosigned') {
        app.log.info({ witness }, 'a witness cosigns the log again')
        continue
      }
      const { reason } = result
      if (outcome === 'failed')
        app.log.warn({ witness, reason }, 'a witness did not cosign the log')
      else app.log.error({ witness, reason }, 'a witness contradicts the log')
    }
  })
}
