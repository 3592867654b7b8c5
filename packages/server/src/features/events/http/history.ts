import type { PubringError } from '../../../errors.ts'
import { auditAccess } from '../../../kernel/access/grants.ts'
import { Type } from '../../../kernel/contract.ts'
import { rejection } from '../../../kernel/faults.ts'
import type { App } from '../../../kernel/http/options.ts'
import { Query } from '../../../kernel/http/request/parameters.ts'
import type { Kernel } from '../../../kernel/kernel.ts'
import { systemLedgerId } from '../../../kernel/ledger/chain.ts'
import { present } from '../../../runtime/present.ts'
import { readProjectNames } from '../../projects/reads.ts'
import { HistoryEvent } from '../contract.ts'
import { formatPlace, parsePlace, readRegistryHistory } from '../history.ts'
import { toEvent } from '../operations.ts'
import { idOrText, Limit, linkNext, pageSize, readFilters, sharedFilters, Text } from './query.ts'

const HistoryQuery = Query({
  project: Text(
    'Only events of this project: its id or name; of a deleted one, its id. They come in the order of its ledger.',
    'payments',
  ),
  person: Text(
    'Only events by this person: their id, name or email address, or the subject that their provider asserts.',
    'ada@example.com',
  ),
  ...sharedFilters,
  requestId: Text(
    'Only events of the request with this id.',
    '019ac8f2-6c1e-7d53-a1b0-5f0e4c9d2b71',
  ),
  after: Text(
    'Where the page begins: from the `Link` of the page before.',
    'MjAyNi0wNS0wMVQwMDowMDowMC4wMDBaIDAxOWFjOGYyLTZjMWUtN2Q1My1hMWIwLTVmMGU0YzlkMmI3MSA3',
  ),
  limit: Limit,
})

export function historyRoute(app: App, kernel: Kernel): void {
  app.route({
    method: ['GET', 'HEAD'],
    url: '/v1/history',
    config: {
      access: auditAccess,
      errors: ['project_not_found'],
      headers: ['Link'],
    },
    schema: {
      operationId: 'listHistory',
      summary: 'Find events in all ledgers',
      description:
        'Returns the events of all projects and of the registry that match, newest first. A request examines a bounded number of events, so a page may be short or empty and still have a `Link` with `rel="next"`: follow it until there is none.',
      querystring: HistoryQuery,
      response: { 200: Type.Array(HistoryEvent) },
    },
    handler: async (request, reply) => {
      const { query } = request
      const { project, person, requestId, after, limit = pageSize } = query
      const before = after === undefined ? undefined : parsePlace(after)
      if (after !== undefined && before === undefined) throw invalidAfter()
      const named = { project, person, requestId: requestId && idOrText(requestId) }
      const filter = { ...readFilters(query), ...present(named) }
      const page = { limit, ...present({ before }) }
      const { events, next } = await readRegistryHistory(kernel, filter, page)
      if (next !== undefined) {
        const url = `${kernel.config.publicUrl}/v1/history`
        linkNext(reply, url, { ...query, after: formatPlace(next) })
      }
      const ledgers = events.map(({ ledgerId }) => ({ projectId: ledgerId }))
      const names = await readProjectNames(kernel.store.reader, ledgers)
      return reply.header('cache-control', 'no-store').send(
        events.map((event) => ({
          ...toEvent(event),
          ...(event.ledgerId === systemLedgerId ? {} : { projectId: event.ledgerId }),
          ...names.get(event.ledgerId),
        })),
      )
    },
  })
}

function invalidAfter(): PubringError {
  const detail = 'after is no place in the history. Send it as the Link of a page has it.'
  return rejection([{ parameter: 'after', code: 'invalid', detail }])
}
