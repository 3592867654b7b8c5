import type { FastifyInstance } from 'fastify'
import { describeCause } from '../../../errors.ts'
import type { Kernel } from '../../kernel.ts'
import { staleAfterMs } from '../../ledger/revision-watch.ts'

/** Time for the first read: connections are opened while the process is still starting. */
const startGraceMs = 5_000

/** How often a database is reported that stays away. */
const repeatMs = 60_000

const noAnswer = 'it does not answer'

/** Logs when a row contradicts its ledger. */
export function addContradictionLog(app: FastifyInstance, { store }: Kernel): void {
  store.contradictions.onRead(({ ledgerId, subject }) => {
    const message = 'the database contradicts its ledger, and what it contradicts is not served'
    const cause = `${subject}, ledger ${ledgerId}`
    app.countedLog.write({ level: 'error', code: 'contradicted', message, cause })
  })
}

/**
 * Logs one line when the database is lost, and once a minute while it is; one when it is back, and one
 * when another host becomes the primary. A server that starts reports a database that cannot be reached
 * as soon as its hosts have said why. Also counts connections that are closed because too many are open.
 */
export function addDatabaseLog(app: FastifyInstance, { watch, store, clock }: Kernel): void {
  let readTime = clock.monotonic()
  let lostTime: number | undefined
  let graceMs = startGraceMs
  let primary: string | undefined
  let cause = noAnswer

  function reportLost(): void {
    if (lostTime !== undefined && clock.monotonic() - lostTime < repeatMs) return
    lostTime = clock.monotonic()
    const message = app.readiness.starting
      ? 'the database is not ready: until it is, everything but /health/live gets 503'
      : 'the database cannot be read: key sets are served from memory, everything else gets 503'
    app.log.error({ host: primary, cause }, message)
  }
  watch.onRead(({ outcome, error }) => {
    if (outcome === 'completed') {
      const { primary: host = primary } = store.diagnostics()
      const awaySeconds = Math.round((clock.monotonic() - readTime) / 1_000)
      if (lostTime !== undefined) {
        app.log.info({ host, awaySeconds }, 'the database can be read again')
      }
      if (primary !== undefined && host !== primary) {
        app.log.warn({ host, before: primary }, 'the database has another primary')
      }
      primary = host
      readTime = clock.monotonic()
      lostTime = undefined
      graceMs = staleAfterMs
      cause = noAnswer
      return
    }
    const known = describeCause(app.readiness.starting ? Object(error).cause : error)
    if (outcome === 'failed') cause = known ?? cause
    const isKnown = app.readiness.starting && known !== undefined
    if (isKnown || watch.ageMs() > graceMs) reportLost()
  })
  app.server.on('drop', () => {
    const message = 'a connection was closed immediately: too many are open'
    app.countedLog.write({ level: 'warn', code: 'connection_dropped', message })
  })
}
