import type { FastifyInstance } from 'fastify'
import { PubringError } from '../../errors.ts'

/** RFC 9112 section 3.2: an HTTP/1.1 request without Host is a 400. Host has no other use here. */
export function addHostCheck(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _reply, done) => {
    if (request.raw.httpVersion === '1.1' && request.headers.host === undefined) {
      throw new PubringError('invalid_request', 'An HTTP/1.1 request needs a Host header.')
    }
    done()
  })
}
