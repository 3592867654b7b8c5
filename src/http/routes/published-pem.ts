import { Type } from 'typebox'
import { parseProjectRef } from '../../core/access.ts'
import type { LiveServices } from '../../core/publishing/live.ts'
import { pemOfKey, pemSet } from '../../core/publishing/pem.ts'
import { PubringError } from '../../errors.ts'
import { reusePublished } from '../caching/reuse.ts'
import { openToAllOrigins, preflightRoute } from '../hooks/cross-origin.ts'
import type { App } from '../options.ts'
import { requireAccepted } from '../request/cache-control.ts'
import { KeyPath, ProjectPath } from '../request/paths.ts'
import { publishedFolder, sendDocument } from './published.ts'

const pemMediaType = 'application/x-pem-file'

const setUrl = `${publishedFolder}/keys.pem`
const keyUrl = `${publishedFolder}/:kid.pem`

const pemResponse = {
  description: 'PEM (RFC 7468).',
  content: { [pemMediaType]: { schema: Type.String() } },
}

const shared = {
  method: ['GET' as const, 'HEAD' as const],
  onRequest: openToAllOrigins,
}
const headers = ['Age', 'Cache-Control', 'Access-Control-Allow-Origin'] as const

/** The published keys for verifiers that read no JWKS, such as HAProxy and njs. */
export function publishedPemRoutes(app: App, live: LiveServices): void {
  app.route({
    ...shared,
    url: setUrl,
    config: {
      etag: true,
      errors: ['project_not_found', 'storage_unavailable'],
      headers: [...headers],
    },
    schema: {
      operationId: 'getPublishedPem',
      summary: 'The keys of jwks.json as PEM',
      description:
        'A `PUBLIC KEY` block for each active RSA, EC and OKP key, after a line with its kid and alg. It is cached as the key set is; without an active key it has no block.',
      tags: ['Key sets'],
      params: ProjectPath,
      response: { 200: pemResponse },
    },
    handler: async (request, reply) => {
      const ref = parseProjectRef(request.params.projectIdOrName)
      const published = await live.readPublished(ref)
      requireAccepted(request.headers, published)
      reusePublished(request, live, ref, published)
      return sendDocument(reply, published, pemSet(published), pemMediaType)
    },
  })
  app.route({
    ...shared,
    url: keyUrl,
    config: {
      etag: true,
      errors: ['project_not_found', 'key_not_found', 'storage_unavailable'],
      headers: [...headers],
    },
    schema: {
      operationId: 'getPublishedKeyPem',
      summary: 'An active key as PEM',
      description:
        'By its `kid` in the key set. A key that is not active is `key_not_found`. The key with the kid `keys` is in keys.pem only.',
      tags: ['Key sets'],
      params: KeyPath,
      response: { 200: pemResponse },
    },
    handler: async (request, reply) => {
      const ref = parseProjectRef(request.params.projectIdOrName)
      const published = await live.readPublished(ref)
      requireAccepted(request.headers, published)
      const document = pemOfKey(published, request.params.kid)
      if (document === undefined) throw notPublished()
      reusePublished(request, live, ref, published)
      return sendDocument(reply, published, document, pemMediaType)
    },
  })
  preflightRoute(app, setUrl)
  preflightRoute(app, keyUrl)
}

function notPublished(): PubringError {
  return new PubringError(
    'key_not_found',
    'The key set of the project has no key with this kid: it is not active, or was never registered.',
  )
}
