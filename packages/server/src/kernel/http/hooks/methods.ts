import type { FastifyInstance } from 'fastify'
import { PubringError } from '../../../errors.ts'

/**
 * Rejects requests without a matching route before anything else is checked: 405 with `Allow` if
 * the path has other methods (RFC 9110 section 15.5.6), otherwise 404.
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
    // A literal path such as `/self` hides `/:id`, even for methods that only `/:id` has.
    const literal = routes.get(path)
    if (!request.is404 && (literal === undefined || literal.has(request.method))) return done()
    const allow = literal === undefined ? methodsOfPatterns(routes, path) : [...literal].sort()
    if (allow.length === 0) throw routeNotFound()
    throw new PubringError(
      'method_not_allowed',
      `This path supports ${allow.join(', ')}, not ${request.method}.`,
      { allow },
    )
  })
  // Unreachable, because the hook above runs first; Fastify's own 404 would have another form.
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
    'There is nothing at this path. /docs lists every path of the API.',
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
    pattern.every((part, index) => matchesPart(part, path[index] ?? ''))
  )
}

/** `:name` matches every text, and `:name.pem` one that ends with `.pem`. */
function matchesPart(pattern: string, text: string): boolean {
  const [, end] = /^:\w+(.*)$/.exec(pattern) ?? []
  return end === undefined ? pattern === text : text.endsWith(end)
}
