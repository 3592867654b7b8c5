import { readFile } from 'node:fs/promises'
import type { FastifyInstance } from 'fastify'
import { entityTag } from '../../core/entity-tags.ts'
import { errorTable } from '../../errors.ts'
import type { HttpOptions } from '../options.ts'
import { referenceRoutes } from './reference.ts'

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

/** What `npm run generate` makes of the routes, for the default settings. */
const generated = new URL('../../../docs/openapi.json', import.meta.url)
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
    method: 'GET',
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
