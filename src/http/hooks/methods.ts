import type { FastifyInstance } from 'fastify'
import { PubringError } from '../../errors.ts'

/**
 * Answers what no route takes, before anything of the request is read: 405 with `Allow` where the
 * address has other methods (RFC 9110 section 15.5.6), 404 otherwise.
 */
export function addMethods(app: FastifyInstance): void {
  const routes = new Map<string, Set<string>>()
  app.addHook('onRoute', ({ url, method }) => {
    const methods = routes.get(url) ?? new Set()
    for (const name of [method].flat()) methods.add(name)
    routes.set(url, methods)
  })
  app.addHook('onRequest', (request, _reply, done) => {
    const path = pathOf(request.url)
    // An address of its own is not one of the kind `/:id`, also for methods that only those take.
    const own = routes.get(path)
    if (!request.is404 && (own === undefined || own.has(request.method))) return done()
    const allow = own === undefined ? methodsOfPatterns(routes, path) : [...own].sort()
    if (allow.length === 0) throw routeNotFound()
    throw new PubringError(
      'method_not_allowed',
      `This address takes ${allow.join(', ')}, not ${request.method}.`,
      { allow },
    )
  })
  // The hook above has answered already: it runs for this route as for every other.
  app.setNotFoundHandler(() => {
    throw routeNotFound()
  })
}

function pathOf(url: string): string {
  const end = url.search(/[?#]/)
  return end < 0 ? url : url.slice(0, end)
}

function routeNotFound(): PubringError {
  return new PubringError(
    'route_not_found',
    'There is nothing at this address. /docs describes every address that there is.',
  )
}

function methodsOfPatterns(
  routes: ReadonlyMap<string, ReadonlySet<string>>,
  path: string,
): string[] {
  const parts = path.split('/')
  const matching = [...routes].filter(([pattern]) => matches(pattern.split('/'), parts))
  return [...new Set(matching.flatMap(([, methods]) => [...methods]))].sort()
}

function matches(pattern: string[], path: string[]): boolean {
  return (
    pattern.length === path.length &&
    pattern.every((part, index) => part.startsWith(':') || part === path[index])
  )
}
