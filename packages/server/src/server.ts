import type { IncomingMessage, ServerOptions, ServerResponse } from 'node:http'
import Fastify, { type FastifyInstance, type FastifyServerFactory } from 'fastify'
import { maxBodyBytes } from './kernel/http/body/bodies.ts'
import { withoutCompilers } from './kernel/http/body/validation.ts'
import { clientErrorHandler, sendFault } from './kernel/http/errors.ts'
import { createConnections } from './kernel/http/hooks/connections.ts'
import { loggingOptions } from './kernel/http/hooks/logging.ts'
import * as http from './kernel/http/node-http.ts'
import type { HttpOptions } from './kernel/http/options.ts'
import { protocolFault, requestsUpgrade } from './kernel/http/request/headers.ts'
import { newId } from './kernel/values/ids.ts'

/** Bytes of URL and headers together: far more than any valid name or API key needs. */
const maxHeaderSize = 64 * 1024

/**
 * Limits for a public server, in milliseconds. The keep-alive time exceeds that of load balancers
 * (usually 60 seconds), so that they close idle connections first.
 */
const serverOptions: ServerOptions = {
  maxHeaderSize,
  keepAliveTimeout: 72_000,
  requestTimeout: 30_000,
  headersTimeout: 20_000,
  connectionsCheckingInterval: 5_000,
  // Faults of the Host header are rejected here, with the same problem details as every error.
  requireHostHeader: false,
  // A header that may occur only once is invalid if it occurs twice.
  joinDuplicateHeaders: true,
}

/** How long a client may accept nothing of what is ready for it; longer than `headersTimeout`. */
const maxStalledMs = 30_000

/** The beginnings of the paths that this server has. */
const ownPath =
  /^\/(?:$|\?|(?:v1|console|register|docs|health|log|sign-in|\.well-known|openapi\.json)(?:[/?]|$))/

/** The path of a request without that of the public URL, which some proxies pass on. */
function basePathRemover(publicUrl: string): (path?: string) => string {
  const base = new URL(publicUrl).pathname.replace(/\/$/, '')
  return (path = '') => {
    const rest = base !== '' && path.startsWith(base) ? path.slice(base.length) : path
    return ownPath.test(rest) ? rest : path
  }
}

export function createServer(options: HttpOptions): FastifyInstance {
  const connections = createConnections()
  const withoutBasePath = basePathRemover(options.publicUrl)
  /** Puts checks of the protocol and the response cache in front of Fastify's routes. */
  const serverFactory: FastifyServerFactory = (routes) => {
    const route = (request: IncomingMessage, response: ServerResponse) => {
      connections.track(request, response)
      routes(request, response)
    }
    const serve = (request: IncomingMessage, response: ServerResponse) => {
      request.url = withoutBasePath(request.url)
      const fault = protocolFault(request)
      if (fault !== undefined) {
        connections.track(request, response)
        const received = { request, response, requestId: newId() }
        return sendFault(app, fault, received, options)
      }
      if (requestsUpgrade(request)) response.shouldKeepAlive = false
      connections.serve(request, response, () => app.responseCache.serve(request, response, route))
    }
    const server = http.createServer(serverOptions, serve)
    // Without a timeout, Node would wait forever for clients that do not read their responses. What the
    // system takes of a response is activity, so a slow reader is not disconnected.
    server.setTimeout(maxStalledMs, (socket) => {
      if (!connections.isAwaiting(socket)) socket.destroy()
    })
    // Node would ask for the body at once; `addBodies` asks for it after the request is admitted.
    server.on('checkContinue', serve)
    // Node would respond to an unknown Expect with a bare 417 (optional: RFC 9110 section 10.1.1).
    return server.on('checkExpectation', serve)
  }
  const app: FastifyInstance = Fastify({
    ...loggingOptions(options),
    serverFactory,
    trustProxy: options.trustProxy === true ? isPeer : options.trustProxy,
    bodyLimit: maxBodyBytes,
    genReqId: newId,
    requestIdHeader: false,
    schemaController: withoutCompilers,
    // Accepted requests are served while the server closes.
    return503OnClosing: false,
    routerOptions: { maxParamLength: maxHeaderSize },
    frameworkErrors: (error, { raw: request, id: requestId }, { raw: response }) =>
      sendFault(app, error, { request, response, requestId }, options),
    clientErrorHandler: clientErrorHandler(options.publicUrl, connections, () => app.log),
  })
  app.decorate('connections', connections)
  addShutdown(app)
  return app
}

/**
 * Once the server has stopped listening, each response closes its connection, so that no client sends
 * another request on it. Before, the client would need another connection, which the system resets if
 * listening ends at that moment. Node closes idle connections when the server closes.
 */
function addShutdown(app: FastifyInstance): void {
  const readiness = { starting: false, shuttingDown: false }
  app.decorate('readiness', readiness)
  let isClosing = false
  app.decorate('endsConnections', () => {
    return isClosing || (readiness.shuttingDown && !app.server.listening)
  })
  app.addHook('preClose', async () => {
    readiness.shuttingDown = true
    isClosing = true
  })
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (app.endsConnections()) reply.header('connection', 'close')
    done(null, payload)
  })
}

/** Trusts one hop: trusting more would let clients choose their own address. */
function isPeer(_address: string, hop: number): boolean {
  return hop === 0
}
