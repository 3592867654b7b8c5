import { hash } from 'node:crypto'
import apiReference from '@scalar/fastify-api-reference'
import type { FastifyInstance } from 'fastify'
import { entityTag } from '../core/preconditions.ts'
import { errorTable } from '../errors.ts'

/** The description as JSON, and the pages that people read: `/docs` and `/docs/errors`. */
export async function addDocs(app: FastifyInstance): Promise<void> {
  descriptionRoute(app)
  app.route({
    method: 'GET',
    url: '/docs/errors',
    schema: { hide: true },
    handler: async (_request, reply) =>
      reply.type('text/html; charset=utf-8').header('cache-control', 'no-cache').send(errorPage()),
  })
  await app.register(referencePages)
}

/** Written out once, for the first who asks: no route comes or goes after the start. */
function descriptionRoute(app: FastifyInstance): void {
  let written: { body: Buffer; etag: string } | undefined
  function write(): { body: Buffer; etag: string } {
    const body = Buffer.from(JSON.stringify(app.swagger()))
    return { body, etag: entityTag(body) }
  }
  app.route({
    method: 'GET',
    url: '/openapi.json',
    config: { etag: true },
    schema: { hide: true },
    handler: async (_request, reply) => {
      written ??= write()
      const { body, etag } = written
      return reply
        .type('application/json')
        .headers({ 'cache-control': 'no-cache', etag })
        .send(body)
    },
  })
}

/** Scalar's page and script, from this server alone: no font, proxy or telemetry from elsewhere. */
async function referencePages(app: FastifyInstance): Promise<void> {
  app.addHook('onSend', async (_request, reply, payload) => {
    reply.header('cache-control', 'no-cache')
    // Relative, so that it holds behind a proxy that puts a path before ours.
    if (reply.statusCode === 301) reply.header('location', 'docs/')
    const html = String(reply.getHeader('content-type')).startsWith('text/html')
    if (html && typeof payload === 'string') {
      reply.header('content-security-policy', pagePolicy(payload))
    }
    return payload
  })
  await app.register(apiReference, {
    routePrefix: '/docs',
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
}

/**
 * What the page needs: our own script and that inline one which starts it, named by its digest
 * (CSP3 section 8.3). Its styles are made by the script, and styles alone may be inline.
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

/** Where the `type` of every problem leads. */
function errorPage(): string {
  const rows = Object.entries(errorTable).map(
    ([code, { status, title }]) =>
      `<tr id="${code}"><td><code>${code}</code></td><td>${status}</td><td>${title}</td></tr>`,
  )
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Errors of the Pubring API</title></head>
<body>
<h1>Errors</h1>
<p>Every error is a problem details object (RFC 9457). Compare its <code>code</code>; its
<code>detail</code> says what to do.</p>
<table>
<thead><tr><th>code</th><th>status</th><th>title</th></tr></thead>
<tbody>
${rows.join('\n')}
</tbody>
</table>
</body>
</html>
`
}
