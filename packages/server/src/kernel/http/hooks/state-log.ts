import type { FastifyInstance } from 'fastify'
import type { Kernel } from '../../kernel.ts'
import { staleAfterMs } from '../../ledger/revision-watch.ts'
import { describeCause } from './counted-log.ts'

/** Time for the first read: connections are opened while the process is still starting. */
const startGraceMs = 5_000

/** Logs when a row contradicts its ledger. */
export function addContradictionLog(app: FastifyInstance, { store }: Kernel): void {
  store.contradictions.onRead(({ ledgerId, subject }) => {
    const message = 'the database contradicts its ledger, and what it contradicts is not served'
    const cause = `${subject}, ledger ${ledgerId}`
    app.countedLog.write({ level: 'error', code: 'contradicted', message, cause })
  })
}

/**
 * Logs one line when the database is lost, when it is back, and when another host becomes the
 * primary. Also counts connections that are closed because too many are open.
 */
export function addDatabaseLog(app: FastifyInstance, { watch, store, clock }: Kernel): void {
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
