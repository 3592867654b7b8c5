import type { FastifyInstance } from 'fastify'

/**
 * During shutdown each response closes its connection, so that no client sends its next request on
 * a connection that is closing. Node closes the idle ones when the server closes.
 */
export function addShutdown(app: FastifyInstance): void {
  app.decorate('readiness', { shuttingDown: false })
  app.addHook('preClose', async () => {
    app.readiness.shuttingDown = true
  })
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (app.readiness.shuttingDown) reply.header('connection', 'close')
    done(null, payload)
  })
}
