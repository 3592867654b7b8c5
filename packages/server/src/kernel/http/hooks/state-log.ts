import type { FastifyInstance } from 'fastify'
import { isStop } from '../../../features/log/faults.ts'
import type { Log } from '../../../features/log/log.ts'
import type { LiveServices } from '../../../features/publishing/live.ts'
import { staleAfterMs } from '../../ledger/revision-watch.ts'
import { describeCause } from './counted-log.ts'

/** Time for the first read: connections are opened while the process is still starting. */
const startGraceMs = 5_000

/**
 * Logs one line when the database is lost, when it is back, and when another host becomes the
 * primary. Also counts connections that are closed because too many are open.
 */
export function addDatabaseLog(app: FastifyInstance, { watch, context }: LiveServices): void {
  const { store, clock } = context
  let readTime = clock.monotonic()
  let isLost = false
  let graceMs = startGraceMs
  let primary: string | undefined
  let cause = 'it does not answer'

  watch.onRead(({ outcome, error }) => {
    if (outcome === 'failed') cause = describeCause(error) ?? cause
    if (outcome === 'completed') {
      const { primary: host = primary } = store.diagnostics()
      const awaySeconds = Math.round((clock.monotonic() - readTime) / 1_000)
      if (isLost) app.log.info({ host, awaySeconds }, 'the database can be read again')
      if (primary !== undefined && host !== primary) {
        app.log.warn({ host, before: primary }, 'the database has another primary')
      }
      primary = host
      readTime = clock.monotonic()
      isLost = false
      graceMs = staleAfterMs
      cause = 'it does not answer'
    } else if (!isLost && watch.ageMs() > graceMs) {
      isLost = true
      const message =
        'the database cannot be read: key sets are served from memory, everything else gets 503'
      app.log.error({ host: primary, cause }, message)
    }
  })
  app.server.on('drop', () => {
    const message = 'a connection was closed immediately: too many are open'
    app.countedLog.write({ level: 'warn', code: 'connection_dropped', message })
  })
}

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

/** The line for each outcome of a witness, logged when it differs from the one before. */
const witnessLines = {
  cosigned: ['info', 'a witness cosigns the log again'],
  failed: ['warn', 'a witness did not cosign the log'],
  contradicted: ['error', 'a witness contradicts the log'],
} as const

function logWitnesses(app: FastifyInstance, log: Log): void {
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
