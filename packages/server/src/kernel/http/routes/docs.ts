import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { errorTable } from '../../../errors.ts'
import { entityTag } from '../../entity-tags.ts'
import type { HttpOptions } from '../options.ts'

/** Serves the pages `/docs` and `/docs/errors`. */
export function addDocs(app: FastifyInstance): void {
  app.route({
    method: 'GET',
    url: '/docs/errors',
    schema: { hide: true },
    handler: async (_request, reply) =>
      reply.type('text/html; charset=utf-8').header('cache-control', 'no-cache').send(errorPage()),
  })
  referenceRoutes(app)
}

/** The document that `npm run generate` makes of the routes, for the default settings. */
const generated = new URL('../../../../../../docs/openapi.json', import.meta.url)
export const generatedFor = 'http://127.0.0.1:8080'

/** Serves the OpenAPI document, which is read on the first request. */
export function descriptionRoute(
  app: FastifyInstance,
  { publicUrl }: Pick<HttpOptions, 'publicUrl'>,
): void {
  let document: { body: Buffer; etag: string } | undefined
  async function read(): Promise<{ body: Buffer; etag: string }> {
    const description = JSON.parse(await readFile(generated, 'utf8'), (_name, value) =>
      typeof value === 'string' ? value.replaceAll(generatedFor, () => publicUrl) : value,
    )
    const body = Buffer.from(JSON.stringify(description))
    return { body, etag: entityTag(body) }
  }
  app.route({
    method: ['GET', 'HEAD'],
    url: '/openapi.json',
    config: { etag: true },
    schema: { hide: true },
    handler: async (_request, reply) => {
      document ??= await read()
      const { body, etag } = document
      return reply
        .type('application/json')
        .headers({ 'cache-control': 'no-cache', etag })
        .send(body)
    },
  })
}

/** Converts Markdown that contains only text and inline code. */
function asHtml(markdown: string): string {
  const escaped = markdown.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
  return escaped.replace(/`([^`]*)`/g, '<code>$1</code>')
}

/** The page that the `type` of a problem links to. */
function errorPage(): string {
  const rows = Object.entries(errorTable).map(
    ([code, { status, title, advice }]) =>
      `<tr id="${code}"><td><code>${code}</code></td><td>${status}</td><td>${title}</td><td>${asHtml(advice)}</td></tr>`,
  )
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Errors of the Pubring API</title></head>
<body>
<h1>Errors</h1>
<p>Every error is a problem details object (RFC 9457). Programs should compare its <code>code</code>;
its <code>detail</code> says what to do.</p>
<table>
<thead><tr><th>code</th><th>status</th><th>title</th><th>what to do</th></tr></thead>
<tbody>
${rows.join('\n')}
</tbody>
</table>
</body>
</html>
`
}

const prefix = '/docs'
const paths = { page: `${prefix}/`, script: `${prefix}/js/scalar.js` }

interface ReferenceFile {
  type: string
  plain: Buffer
  gzipped: Buffer
  etag: string
  headers: Record<string, string>
}

type ReferenceFiles = Record<keyof typeof paths, ReferenceFile>

/** Serves Scalar's page and script locally: no fonts, proxy or telemetry from other hosts. */
function referenceRoutes(app: FastifyInstance): void {
  let loaded: Promise<ReferenceFiles> | undefined
  /** Loads the files on the first request: the script is as large as the rest of the server. */
  function files(): Promise<ReferenceFiles> {
    loaded ??= loadFiles().catch((error) => {
      loaded = undefined
      throw error
    })
    return loaded
  }
  app.route({
    method: 'GET',
    url: prefix,
    schema: { hide: true },
    // A relative location works behind a proxy that adds a path prefix.
    handler: async (_request, reply) =>
      reply.code(301).headers({ location: 'docs/', 'cache-control': 'no-cache' }).send(),
  })
  for (const name of ['page', 'script'] as const) {
    app.route({
      method: ['GET', 'HEAD'],
      url: paths[name],
      config: { etag: true },
      schema: { hide: true },
      handler: async (request, reply) => sendFile(request, reply, (await files())[name]),
    })
  }
}

function sendFile(request: FastifyRequest, reply: FastifyReply, file: ReferenceFile) {
  const zipped = /\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))/i.test(
    String(request.headers['accept-encoding'] ?? ''),
  )
  reply.headers({ 'cache-control': 'no-cache', vary: 'Accept-Encoding', ...file.headers })
  // RFC 9110 section 8.8.3.3: each content coding has its own ETag.
  reply.header('etag', zipped ? file.etag.replace(/"$/, '-gzip"') : file.etag).type(file.type)
  if (zipped) reply.header('content-encoding', 'gzip')
  return reply.send(zipped ? file.gzipped : file.plain)
}

/**
 * Renders the files with Scalar's plugin on a server that does not listen: the plugin exports no
 * files. Its module of 5 MB is not loaded at startup.
 */
async function loadFiles(): Promise<ReferenceFiles> {
  const { default: apiReference } = await import('@scalar/fastify-api-reference')
  const source = Fastify()
  await source.register(apiReference, {
    routePrefix: prefix,
    configuration: {
      url: '../openapi.json',
      pageTitle: 'Pubring API',
      withDefaultFonts: false,
      telemetry: false,
      showDeveloperTools: 'never',
      mcp: { disabled: true },
      agent: { disabled: true },
    },
  })
  try {
    const page = await source.inject(paths.page)
    const script = await source.inject(paths.script)
    return {
      page: await makeFile(page, { 'content-security-policy': pagePolicy(page.payload) }),
      script: await makeFile(script, {}),
    }
  } finally {
    await source.close()
  }
}

async function makeFile(
  response: { headers: Record<string, unknown>; rawPayload: Buffer },
  headers: Record<string, string>,
): Promise<ReferenceFile> {
  const plain = response.rawPayload
  const gzipped = await promisify(gzip)(plain)
  const type = String(response.headers['content-type'])
  return { type, plain, gzipped, etag: entityTag(plain), headers }
}

/**
 * Allows the local script and the inline one that starts it, by its digest (CSP3 section 8.3). The
 * script creates its styles, so inline styles are allowed.
 */
function pagePolicy(html: string): string {
  const inline = [...html.matchAll(/<script(?![^>]*\ssrc=)[^>]*>([\s\S]*?)<\/script>/g)]
  const digests = inline.map(([, text]) => `'sha256-${hash('sha256', text ?? '', 'base64')}'`)
  return [
    "default-src 'none'",
    `script-src 'self' ${digests.join(' ')}`,
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "font-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}
