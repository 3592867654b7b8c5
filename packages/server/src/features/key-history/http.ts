import { entityTag } from '../../kernel/entity-tags.ts'
import { notFound } from '../../kernel/faults.ts'
import type { App } from '../../kernel/http/options.ts'
import { ProjectPath } from '../../kernel/http/request/parameters.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import { formatPosition, positionOf } from '../../kernel/ledger/position.ts'
import { issuerOf } from '../keys/jwks.ts'
import { documentRoute, json, publishedFolder } from '../publishing/http/documents.ts'
import { KeyHistory } from './contract.ts'
import { historyText, keyHistoryOf } from './history.ts'

/** As fresh as the key sets: of the same head of the ledger, or a later one. */
export function routes(app: App, kernel: Kernel): void {
  documentRoute(app, kernel, {
    url: `${publishedFolder}/key-history.json`,
    schema: {
      operationId: 'getKeyHistory',
      summary: 'The keys that a project ever trusted, and when',
      description:
        'Every key that was ever active, with the times at which it was: in `keys` with its material, and in `deleted` the last 1,000 that were deleted. `keys` has the members of the historical keys of OpenID Federation 1.0 (section 8.7). It holds keys that must not be trusted any more: never configure it as the key set of a verifier. It is cached as the key set is.',
      params: ProjectPath,
      response: { 200: KeyHistory },
    },
    headers: ['Pubring-Revision'],
    mediaType: json,
    readsMore: true,
    async documentOf({ projectId, validity }) {
      const history = await keyHistoryOf(kernel.store, projectId)
      if (history === undefined) throw notFound('project_not_found')
      const { revision, head: hash } = history
      const body = historyText(issuerOf(kernel.config.publicUrl, projectId), projectId, history)
      const position = formatPosition(positionOf({ revision, hash }))
      const heads = [{ ledgerId: projectId, hash }]
      return { body, etag: entityTag(body), position, validity: { ...validity, heads } }
    },
  })
}
