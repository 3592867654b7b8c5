import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fastifyStatic from '@fastify/static'
import type { FastifyInstance } from 'fastify'
import { PubringError } from '../../errors.ts'

/** The built console, at the same relative path from the sources and from the compiled code. */
const built = fileURLToPath(new URL('../../../console/dist/', import.meta.url))

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

/** Serves the console below `/console/`. The URL fragment selects the page. */
export async function addConsole(app: FastifyInstance): Promise<void> {
  app.route({
    method: 'GET',
    url: '/console',
    schema: { hide: true },
    // A relative location works behind a proxy that adds a path prefix.
    handler: async (_request, reply) =>
      reply.code(308).headers({ location: 'console/', 'cache-control': 'no-cache' }).send(),
  })
  if (existsSync(built)) await app.register(consoleFiles, { prefix: '/console' })
  else addNotBuilt(app)
}

async function consoleFiles(app: FastifyInstance): Promise<void> {
  app.addHook('onRoute', (route) => {
    route.schema = { ...route.schema, hide: true }
  })
  addPage(app)
  await app.register(fastifyStatic, {
    root: built,
    serve: false,
    preCompressed: true,
    cacheControl: false,
    setHeaders: (reply, path) => {
      // The names of these files contain a digest of their content.
      const immutable = path.includes('/assets/') || path.includes('\\assets\\')
      reply.header('cache-control', immutable ? 'public, max-age=31536000, immutable' : 'no-cache')
    },
  })
  await addFilesAndDeepLinks(app)
}

function addPage(app: FastifyInstance): void {
  app.route({
    method: 'GET',
    url: '/',
    prefixTrailingSlash: 'slash',
    handler: async (_request, reply) => {
      const html = await readFile(join(built, 'index.html'), 'utf8')
      const nonce = randomBytes(16).toString('base64')
      return reply
        .type('text/html; charset=utf-8')
        .headers({ 'cache-control': 'no-cache', 'content-security-policy': pagePolicy(nonce) })
        .send(html.replaceAll('STYLE_NONCE', nonce))
    },
  })
}

/** Names and ids, as in the fragments of the console; nothing that a proxy would normalize. */
const deepLink = /^(?:[\w-]{1,128}\/){0,5}[\w-]{1,128}\/?$/

/**
 * Serves the files that exist at the start, so that no text of a request becomes a path on the
 * disk, and redirects `/console/projects/…` to `/console/#/projects/…`.
 */
async function addFilesAndDeepLinks(app: FastifyInstance): Promise<void> {
  const names = await readdir(built, { recursive: true })
  const files = new Set(names.map((name) => name.replaceAll('\\', '/')).filter(isServed))
  app.route({
    method: 'GET',
    url: '/*',
    handler: async (request, reply) => {
      const [path = ''] = request.url.split('?')
      const page = path.replace(/^\/console\//, '')
      if (files.has(page)) return reply.sendFile(page)
      if (!deepLink.test(page)) {
        throw new PubringError('route_not_found', 'The console has no such file. Reload the page.')
      }
      const up = '../'.repeat(page.split('/').length - 1)
      return reply.redirect(`${up === '' ? './' : up}#/${page}`, 302)
    },
  })
}

/** Not the page, which addPage serves, nor compressed files, which are sent instead of others. */
function isServed(name: string): boolean {
  return /\.\w+$/.test(name) && !/^index\.html|\.(?:br|gz)$/.test(name)
}

function addNotBuilt(app: FastifyInstance): void {
  app.route({
    method: 'GET',
    url: '/console/',
    schema: { hide: true },
    handler: async () => {
      throw new PubringError(
        'route_not_found',
        'The console is not built. Run `npm run build:console` and restart the server.',
      )
    },
  })
}
