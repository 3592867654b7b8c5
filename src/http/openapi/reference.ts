import { hash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { entityTag } from '../../core/keys/preconditions.ts'

const prefix = '/docs'

/** A file of the reference as it is sent. */
interface ReferenceFile {
  type: string
  plain: Buffer
  gzipped: Buffer
  etag: string
  headers: Record<string, string>
}

interface ReferenceFiles {
  page: ReferenceFile
  script: ReferenceFile
}

/** Scalar's page and script, from this server alone: no font, proxy or telemetry from elsewhere. */
export function referenceRoutes(app: FastifyInstance): void {
  let made: Promise<ReferenceFiles> | undefined
  /** Made for the first who asks: the script weighs as much as everything else here together. */
  function files(): Promise<ReferenceFiles> {
    made ??= makeFiles().catch((error) => {
      made = undefined
      throw error
    })
    return made
  }
  app.route({
    method: 'GET',
    url: prefix,
    schema: { hide: true },
    // Relative, so that it holds behind a proxy that puts a path before ours.
    handler: async (_request, reply) =>
      reply.code(301).headers({ location: 'docs/', 'cache-control': 'no-cache' }).send(),
  })
  app.route({
    method: 'GET',
    url: `${prefix}/`,
    config: { etag: true },
    schema: { hide: true },
    handler: async (request, reply) => sendFile(request, reply, (await files()).page),
  })
  app.route({
    method: 'GET',
    url: `${prefix}/js/scalar.js`,
    config: { etag: true },
    schema: { hide: true },
    handler: async (request, reply) => sendFile(request, reply, (await files()).script),
  })
}

function sendFile(request: FastifyRequest, reply: FastifyReply, file: ReferenceFile) {
  const zipped = /\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))/i.test(
    String(request.headers['accept-encoding'] ?? ''),
  )
  reply.headers({ 'cache-control': 'no-cache', vary: 'Accept-Encoding', ...file.headers })
  // RFC 9110 section 8.8.3.3: octets in another coding have a tag of their own.
  reply.header('etag', zipped ? file.etag.replace(/"$/, '-gzip"') : file.etag).type(file.type)
  if (zipped) reply.header('content-encoding', 'gzip')
  return reply.send(zipped ? file.gzipped : file.plain)
}

/** What Scalar's plugin answers, taken from a server that nobody else can reach. */
async function makeFiles(): Promise<ReferenceFiles> {
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
    const page = await source.inject(`${prefix}/`)
    const script = await source.inject(`${prefix}/js/scalar.js`)
    return {
      page: await makeFile(page, { 'content-security-policy': pagePolicy(page.payload) }),
      script: await makeFile(script, {}),
    }
  } finally {
    await source.close()
  }
}

async function makeFile(
  answer: { headers: Record<string, unknown>; rawPayload: Buffer },
  headers: Record<string, string>,
): Promise<ReferenceFile> {
  const plain = answer.rawPayload
  const gzipped = await promisify(gzip)(plain)
  return {
    type: String(answer.headers['content-type']),
    plain,
    gzipped,
    etag: entityTag(plain),
    headers,
  }
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
