import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import Fastify, { type FastifyInstance } from 'fastify'
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
  let document: Content | undefined
  async function read(): Promise<Content> {
    const description = JSON.parse(await readFile(generated, 'utf8'), (_name, value) =>
      typeof value === 'string' ? value.replaceAll(generatedFor, () => publicUrl) : value,
    )
    return contentOf(Buffer.from(JSON.stringify(description)))
  }
  app.route({
    method: ['GET', 'HEAD'],
    url: '/openapi.json',
    config: { etag: true },
    schema: { hide: true },
    async handler(_request, reply) {
      document ??= await read()
      const { body, etag } = document
      return reply
        .type('application/json')
        .headers({ 'cache-control': 'no-cache', etag })
        .send(body)
    },
  })
}

/** A body and its tag, computed once. */
interface Content {
  body: Buffer
  etag: string
}

function contentOf(body: Buffer): Content {
  return { body, etag: entityTag(body) }
}

/** Converts Markdown that contains only text and inline code. */
function asHtml(markdown: string): string {
  const escaped = markdown.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
  return escaped.replace(/`([^`]*)`/g, '<code>$1</code>')
}

/** The page that the `type` of a problem links to; readable at every width without CSS, which its CSP blocks. */
function errorPage(): string {
  const entries = Object.entries(errorTable).map(
    ([code, { status, title, advice }]) =>
      `<dt id="${code}"><b><code>${code}</code></b> (${status}): ${title}</dt><dd><p>${asHtml(advice)}</p></dd>`,
  )
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>Errors of the Pubring API</title>
</head>
<body>
<h1>Errors</h1>
<p>Every error is a problem details object (RFC 9457). Programs should compare its <code>code</code>;
its <code>detail</code> says what to do.</p>
<dl>
${entries.join('\n')}
</dl>
</body>
</html>
`
}

const prefix = '/docs'
const paths = { page: `${prefix}/`, script: `${prefix}/js/scalar.js` }

interface ReferenceFile {
  type: string
  identity: Content
  gzip: Content
}

type ReferenceFiles = Record<keyof typeof paths, ReferenceFile>

/** Serves Scalar's page and script locally: no fonts, proxy or telemetry from other hosts. */
function referenceRoutes(app: FastifyInstance): void {
  // Loaded with the first request: the script is as large as the rest of the server.
  let loaded: Promise<ReferenceFiles> | undefined
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
      async handler(request, reply) {
        loaded ??= loadFiles().catch((error) => {
          // The next request tries again.
          loaded = undefined
          throw error
        })
        const file = (await loaded)[name]
        const { negotiate } = await import('@fastify/accept-negotiator')
        const coding = negotiate(request.headers['accept-encoding'] ?? 'identity', ['gzip'])
        const { body, etag } = file[coding === 'gzip' ? coding : 'identity']
        reply
          .type(file.type)
          .headers({ 'cache-control': 'no-cache', vary: 'Accept-Encoding', etag })
        if (name === 'page')
          reply.header('content-security-policy', pagePolicy(`${file.identity.body}`))
        if (coding !== null) reply.header('content-encoding', coding)
        return reply.send(body)
      },
    })
  }
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
    const file = async (path: string): Promise<ReferenceFile> => {
      const { headers, rawPayload } = await source.inject(path)
      return {
        type: String(headers['content-type']),
        identity: contentOf(rawPayload),
        gzip: contentOf(await promisify(gzip)(rawPayload)),
      }
    }
    return { page: await file(paths.page), script: await file(paths.script) }
  } finally {
    await source.close()
  }
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
