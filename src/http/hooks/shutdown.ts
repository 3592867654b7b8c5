import type { FastifyInstance } from 'fastify'

/**
 * Once shutting down, each answer ends its connection, so that no client sends its next request
 * into a closing one. Node closes the idle connections when the server closes.
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
