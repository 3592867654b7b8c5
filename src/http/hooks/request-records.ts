import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { PubringError } from '../../errors.ts'

/** How a request ended: what is logged and counted of it. */
export interface RequestRecord {
  requestId: string
  method: string
  /** The pattern of its route; undefined where none took it. */
  route: string | undefined
  status: number
  problem?: PubringError | undefined
  /** From the head of the request to the last octet of the answer, in milliseconds. */
  ms: number
  apiKeyId?: string | undefined
  dataAgeMs?: number | undefined
  /** It was held until there was news: its time says nothing about us. */
  wasHeld: boolean
}

export interface RequestRecords {
  observe(observer: (record: RequestRecord) => void): void
  /** Whether anybody observes. */
  isObserved(): boolean
  report(record: RequestRecord): void
  /** The request came then (`performance.now()`), and goes through the routes later. */
  markArrival(request: IncomingMessage, time: number): void
}

/** Reports each finished request to the log and the metrics, whether a route or the cache served it. */
export function addRequestRecords(app: FastifyInstance): void {
  const observers: ((record: RequestRecord) => void)[] = []
  const arrivals = new WeakMap<IncomingMessage, number>()
  app.decorateRequest('problem', undefined)
  app.decorateRequest('dataAgeMs', undefined)
  app.decorate('requestRecords', {
    observe: (observer) => void observers.push(observer),
    isObserved: () => observers.length > 0,
    report(record) {
      for (const observer of observers) observer(record)
    },
    markArrival: (request, time) => void arrivals.set(request, time),
  })
  app.addHook('onResponse', (request, reply, done) => {
    const arrival = arrivals.get(request.raw)
    app.requestRecords.report({
      requestId: request.id,
      method: request.method,
      route: request.is404 ? undefined : request.routeOptions.url,
      status: reply.statusCode,
      problem: request.problem,
      ms: arrival === undefined ? reply.elapsedTime : performance.now() - arrival,
      apiKeyId: request.principal?.apiKeyId,
      dataAgeMs: request.dataAgeMs,
      wasHeld: wasHeld(reply),
    })
    done()
  })
}

/** Held requests and event streams take as long as there is no news. */
function wasHeld(reply: FastifyReply): boolean {
  const held = reply.getHeader('preference-applied') !== undefined
  return held || reply.getHeader('content-type') === 'text/event-stream'
}
