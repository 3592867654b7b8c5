import type { IncomingMessage, ServerResponse } from 'node:http'
import Fastify, { type FastifyInstance } from 'fastify'
import { clientErrorHandler } from './errors/client-errors.ts'
import { answerFrameworkError } from './errors/handler.ts'
import { createConnections } from './hooks/connections.ts'
import { loggingOptions } from './hooks/logging.ts'
import type { HttpOptions } from './options.ts'

/** Bytes of address and headers together: far more than any valid name or API key needs. */
const maxHeaderSize = 64 * 1024

/**
 * Fastify with the limits that a server on the open net needs. Idle connections are kept for 72
 * seconds, longer than load balancers keep theirs (60 as a rule): they close first, not we.
 */
export function createServer(options: HttpOptions, newRequestId: () => string): FastifyInstance {
  const connections = createConnections()
  const app: FastifyInstance = Fastify({
    ...loggingOptions(options),
    trustProxy: options.trustProxy === true ? isPeer : options.trustProxy,
    bodyLimit: options.bodyLimit,
    genReqId: newRequestId,
    requestIdHeader: false,
    // A request that was accepted is answered, also while the server closes.
    return503OnClosing: false,
    routerOptions: { maxParamLength: maxHeaderSize },
    keepAliveTimeout: 72_000,
    requestTimeout: 30_000,
    http: {
      maxHeaderSize,
      headersTimeout: 20_000,
      connectionsCheckingInterval: 5_000,
      // We refuse a request without Host ourselves, in the form that every error has.
      requireHostHeader: false,
    },
    frameworkErrors: (error, request, reply) => {
      answerFrameworkError(error, request, reply.raw, options)
    },
    clientErrorHandler: clientErrorHandler(options.publicUrl, connections, () => app.log),
  })
  app.decorate('connections', connections)
  const route = (request: IncomingMessage, response: ServerResponse) => {
    connections.track(request, response)
    app.routing(request, response)
  }
  // In front of Fastify, in place of its own listener.
  app.server.removeAllListeners('request').on('request', (request, response) => {
    app.responseCache.serve(request, response, route)
  })
  // Node answers an unknown Expect with a bare 417, which RFC 9110 section 10.1.1 does not ask for.
  app.server.on('checkExpectation', route)
  return app
}

/** The one hop that `true` stands for: to trust more would let clients write their own address. */
function isPeer(_address: string, hop: number): boolean {
  return hop === 0
}
