import { readerAccess } from '../../kernel/access/grants.ts'
import { Type } from '../../kernel/contract.ts'
import { contextOf } from '../../kernel/http/hooks/access.ts'
import type { App } from '../../kernel/http/options.ts'
import { Query } from '../../kernel/http/request/parameters.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import { Search } from './contract.ts'
import { search } from './operations.ts'

/** Keys, and projects, without `limit`, and at most. */
const pageSize = 20
const maxPageSize = 50

const SearchQuery = Query({
  q: Type.String({
    description:
      'A kid or the id of a project, its first 8 characters or more, or its last 4 to 12; a published kid; an RFC 7638 thumbprint or the SHA-256 of an SPKI in hex, or their beginnings; a fingerprint as `ssh-keygen -l` prints it; a part of a label or the beginning of a name, in any case. White space, colons in hashes and a public key in PEM are understood. Fingerprints and the middle of labels are found among the newest 20,000 keys.',
    examples: ['019ac8f2'],
  }),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: maxPageSize,
      default: pageSize,
      description: 'The most keys, and the most projects.',
    }),
  ),
})

export function routes(app: App, kernel: Kernel): void {
  app.route({
    method: 'GET',
    url: '/v1/search',
    config: {
      access: readerAccess,
      errors: [
        'private_key_submitted',
        'invalid_key_pem',
        'unsupported_key',
        'weak_key',
        'compromised_key',
      ],
    },
    schema: {
      operationId: 'search',
      summary: 'Find keys and projects',
      description:
        'Finds keys and projects that the caller may read. Rejects private keys, tokens and API keys: they do not belong in a URL.',
      querystring: SearchQuery,
      response: { 200: Search },
    },
    handler: async (request, reply) => {
      const { q, limit = pageSize } = request.query
      const found = await search(contextOf(request, kernel), q, limit)
      return reply.header('cache-control', 'no-store').send(found)
    },
  })
}
