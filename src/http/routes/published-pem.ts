import { Type } from '../../contract/schema.ts'
import type { LiveServices } from '../../core/publishing/live.ts'
import { pemOfKey, pemSet } from '../../core/publishing/pem.ts'
import { PubringError } from '../../errors.ts'
import type { App } from '../options.ts'
import { KeyPath } from '../request/paths.ts'
import { documentRoute, publishedFolder } from './published.ts'

const mediaType = 'application/x-pem-file'

const response = {
  200: { description: 'PEM (RFC 7468).', content: { [mediaType]: { schema: Type.String() } } },
}

/** The published keys for verifiers that read no JWKS, such as HAProxy and njs. */
export function publishedPemRoutes(app: App, live: LiveServices): void {
  documentRoute(app, live, {
    url: `${publishedFolder}/keys.pem`,
    schema: {
      operationId: 'getPublishedPem',
      summary: 'The keys of jwks.json as PEM',
      description:
        'A `PUBLIC KEY` block for each active RSA, EC and OKP key, after a line with its kid and alg. It is cached as the key set is; without an active key it has no block.',
      response,
    },
    mediaType,
    documentOf: pemSet,
  })
  documentRoute(app, live, {
    url: `${publishedFolder}/:kid.pem`,
    schema: {
      operationId: 'getPublishedKeyPem',
      summary: 'An active key as PEM',
      description:
        'By its `kid` in the key set. A key that is not active is `key_not_found`. The key with the kid `keys` is in keys.pem only.',
      params: KeyPath,
      response,
    },
    errors: ['key_not_found'],
    mediaType,
    documentOf(published, kid) {
      const document = pemOfKey(published, kid)
      if (document !== undefined) return document
      throw new PubringError(
        'key_not_found',
        'The key set of the project has no key with this kid: it is not active, or was never registered.',
      )
    },
  })
}
