import type { FastifyInstance } from 'fastify'
import { describeCause } from '../../errors.ts'
import { isStop } from './faults.ts'
import type { Log } from './log.ts'

/** Logs when this process can no longer extend the transparency log, and when it can again. */
export function reportRuns(app: FastifyInstance, log: Log): void {
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
  reportWitnesses(app, log)
}

/** The line for each outcome of a witness, logged when it differs from the one before. */
const witnessLines = {
  cosigned: ['info', 'a witness cosigns the log again'],
  failed: ['warn', 'a witness did not cosign the log'],
  contradicted: ['error', 'a witness contradicts the log'],
} as const

function reportWitnesses(app: FastifyInstance, log: Log): void {
  const outcomes = new Map<string, string>()
  log.onRun(() => {
    for (const result of log.witnesses()) {
      const { name: witness, outcome } = result
      const before = outcomes.get(witness) ?? 'cosigned'
      outcomes.set(witness, outcome)
      if (outcome === before) continue
      const [level, message] = witnessLines[outcome]
      app.log[level]({ witness, ...('reason' in result && { reason: result.reason }) }, message)
    }
  })
}
