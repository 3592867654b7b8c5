import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { PubringError } from '../../errors.ts'

declare module 'fastify' {
  interface FastifyInstance {
    outcomes: Outcomes
  }
  interface FastifyRequest {
    /** The error that the request ended with. */
    problem: PubringError | undefined
    /** Milliseconds since the look at the store that the published answer rests on. */
    lookAge: number | undefined
  }
}

/** How a request ended: what is logged and counted of it. */
export interface Outcome {
  requestId: string
  method: string
  /** The pattern of its route; undefined where none took it. */
  route: string | undefined
  status: number
  problem?: PubringError | undefined
  /** From the head of the request to the last octet of the answer, in milliseconds. */
  ms: number
  apiKeyId?: string | undefined
  lookAge?: number | undefined
  /** It was held until there was news: its time says nothing about us. */
  waited: boolean
}

export interface Outcomes {
  observe(observer: (outcome: Outcome) => void): void
  /** Whether anybody observes. */
  isObserved(): boolean
  tell(outcome: Outcome): void
  /** The request came then (`performance.now()`), and goes through the routes later. */
  arrived(request: IncomingMessage, time: number): void
}

/** Tells whoever logs or counts how each request ended, whichever way it was answered. */
export function addOutcomes(app: FastifyInstance): void {
  const observers: ((outcome: Outcome) => void)[] = []
  const arrivals = new WeakMap<IncomingMessage, number>()
  app.decorateRequest('problem', undefined)
  app.decorateRequest('lookAge', undefined)
  app.decorate('outcomes', {
    observe: (observer) => void observers.push(observer),
    isObserved: () => observers.length > 0,
    tell(outcome) {
      for (const observer of observers) observer(outcome)
    },
    arrived: (request, time) => void arrivals.set(request, time),
  })
  app.addHook('onResponse', (request, reply, done) => {
    const arrival = arrivals.get(request.raw)
    app.outcomes.tell({
      requestId: request.id,
      method: request.method,
      route: request.is404 ? undefined : request.routeOptions.url,
      status: reply.statusCode,
      problem: request.problem,
      ms: arrival === undefined ? reply.elapsedTime : performance.now() - arrival,
      apiKeyId: request.principal?.apiKeyId,
      lookAge: request.lookAge,
      waited: hasWaited(reply),
    })
    done()
  })
}

/** Held requests and event streams take as long as there is no news. */
function hasWaited(reply: FastifyReply): boolean {
  const held = reply.getHeader('preference-applied') !== undefined
  return held || reply.getHeader('content-type') === 'text/event-stream'
}
