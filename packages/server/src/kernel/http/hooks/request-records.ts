import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { PubringError } from '../../../errors.ts'
import type { Credential } from '../../access/grants.ts'

/** A finished request, for the log and the metrics. */
export interface RequestRecord {
  requestId: string
  method: string
  /** The pattern of its route; undefined if none matched. */
  route: string | undefined
  status: number
  problem?: PubringError | undefined
  /** Milliseconds from the head of the request to the last byte of the response. */
  ms: number
  credential?: Credential | undefined
  dataAgeMs?: number | undefined
  /** Whether it waited for a change, so that its duration does not measure the server. */
  wasHeld: boolean
}

export interface RequestRecords {
  /** `isEnabled` tells at any time whether the observer uses the records. */
  observe(observer: (record: RequestRecord) => void, isEnabled?: () => boolean): void
  hasObservers(): boolean
  report(record: RequestRecord): void
  /** Sets the arrival time (`performance.now()`) of a request that reaches the routes later. */
  markArrival(request: IncomingMessage, time: number): void
}

/** Reports each finished request, served by a route or the cache, to the log and the metrics. */
export function addRequestRecords(app: FastifyInstance): void {
  const observers: { observer: (record: RequestRecord) => void; isEnabled: () => boolean }[] = []
  const arrivals = new WeakMap<IncomingMessage, number>()
  app.decorateRequest('problem', undefined)
  app.decorateRequest('dataAgeMs', undefined)
  app.decorate('requestRecords', {
    observe: (observer, isEnabled = () => true) => void observers.push({ observer, isEnabled }),
    hasObservers: () => observers.some(({ isEnabled }) => isEnabled()),
    report(record) {
      for (const { observer, isEnabled } of observers) if (isEnabled()) observer(record)
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
      credential: request.principal?.credential,
      dataAgeMs: request.dataAgeMs,
      wasHeld: wasHeld(reply),
    })
    done()
  })
}

/** Held requests and event streams last until there is a change. */
function wasHeld(reply: FastifyReply): boolean {
  const isStream = reply.getHeader('content-type') === 'text/event-stream'
  return isStream || reply.hasHeader('preference-applied')
}
