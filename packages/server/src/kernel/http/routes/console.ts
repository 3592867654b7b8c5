import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { PubringError } from '../../../errors.ts'

/** The built console, at the same relative path from the sources and from the compiled code. */
const built = fileURLToPath(new URL('../../../../../../console/dist/', import.meta.url))

/**
 * Pages may run their own scripts and send requests to this server. Styles created at runtime need
 * the nonce of the response. Framing is forbidden.
 */
const pagePolicy = (nonce: string) =>
  [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')

/**
 * Serves the console below `/console/`, to which `/` leads, and the page of registration links at
 * `/register`. The URL fragment selects the page of the console, or holds the secret of the link.
 */
export async function addConsole(app: FastifyInstance): Promise<void> {
  for (const url of ['/', '/console']) {
    app.route({
      method: 'GET',
      url,
      schema: { hide: true },
      // A relative location works behind a proxy that adds a path prefix.
      handler: async (_request, reply) =>
        reply.code(308).headers({ location: 'console/', 'cache-control': 'no-cache' }).send(),
    })
  }
  if (!existsSync(built)) {
    for (const url of ['/console/', '/register']) addNotBuilt(app, url)
    return
  }
  addPage(app, '/console/', 'index.html')
  addPage(app, '/register', 'register.html')
  const names = await readdir(built, { recursive: true })
  addFiles(
    app,
    names.map((name) => name.replaceAll('\\', '/')),
  )
}

function addPage(app: FastifyInstance, url: string, name: string): void {
  app.route({
    method: 'GET',
    url,
    schema: { hide: true },
    handler: async (_request, reply) => {
      const html = await readFile(join(built, name), 'utf8')
      const nonce = randomBytes(16).toString('base64')
      return reply
        .type('text/html; charset=utf-8')
        .headers({ 'cache-control': 'no-cache', 'content-security-policy': pagePolicy(nonce) })
        .send(html.replaceAll('STYLE_NONCE', nonce))
    },
  })
}

function noSuchFile(): PubringError {
  return new PubringError('route_not_found', 'The console has no such file. Reload the page.')
}

/** Suffixes of compressed files, by their content coding. */
const suffixes = { br: '.br', gzip: '.gz' }

/**
 * Adds a route for each file that exists at the start, so that no text of a request becomes a path on
 * the disk. Pages have their own, and a compressed file is sent instead of the one beside it.
 */
function addFiles(app: FastifyInstance, names: readonly string[]): void {
  const isServed = (name: string) =>
    /\.\w+$/.test(name) && !/^(?:index|register)\.html|\.(?:br|gz)$/.test(name)
  for (const name of names.filter(isServed)) {
    const codings = (['br', 'gzip'] as const).filter((each) =>
      names.includes(name + suffixes[each]),
    )
    app.route({
      method: 'GET',
      url: `/console/${name}`,
      schema: { hide: true },
      handler: (request, reply) => sendFile(request, reply, name, codings),
    })
  }
}

/** Sends a file in the coding that the client accepts, of those that exist. */
async function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  name: string,
  codings: (keyof typeof suffixes)[],
) {
  // Loaded with the first file, because a start would take 25 ms longer with them.
  const { send, mime } = await import('@fastify/send')
  const { negotiate } = await import('@fastify/accept-negotiator')
  const coding = negotiate(request.headers['accept-encoding'] ?? 'identity', codings)
  const path = coding === null ? name : name + suffixes[coding]
  const options = { root: built, cacheControl: false, acceptRanges: false }
  const file = await send(request.raw, path, options)
  if (file.type === 'error') throw file.statusCode < 500 ? noSuchFile() : file.metadata.error
  if (coding !== null) {
    const type = `${mime.getType(name)}; charset=utf-8`
    Object.assign(file.headers, { 'Content-Encoding': coding, 'Content-Type': type })
  }
  // The names of these files contain a digest of their content.
  const immutable = name.startsWith('assets/')
  return reply
    .code(file.statusCode)
    .headers({
      ...file.headers,
      'cache-control': immutable ? 'public, max-age=31536000, immutable' : 'no-cache',
      vary: 'Accept-Encoding',
    })
    .send(file.stream)
}

function addNotBuilt(app: FastifyInstance, url: string): void {
  app.route({
    method: 'GET',
    url,
    schema: { hide: true },
    handler: async () => {
      throw new PubringError(
        'route_not_found',
        'The console is not built. Run `npm run build:console` and restart the server.',
      )
    },
  })
}
