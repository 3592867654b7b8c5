import type { CallOptions } from './call-options.ts'
import type { EventOperations, EventPosition, EventQuery } from './event-api.ts'
import { followEvents, systemPath } from './follow.ts'
import { nextPage, read, readList } from './operations.ts'
import { createDeadline } from './transport/deadline.ts'
import { textChunks } from './transport/text-chunks.ts'
import type { Operation, Transport } from './transport/transport.ts'
import type { Event, HistoryEvent } from './types.ts'
import { pathSegment } from './validation.ts'

/** An export that is silent for longer has failed. */
const maxSilenceMs = 45_000

export function eventOperations(transport: Transport): EventOperations {
  const page: EventOperations['page'] = async ({ project, signal, retries, ...query } = {}) => {
    const operation = readList(pathOf(project), query)
    const { body, headers } = await transport.send({ ...operation, signal, retries })
    const next = nextPage(headers, transport.url)
    return { items: body as Event[], ...(next === undefined ? {} : { next: positionIn(next) }) }
  }
  return {
    list: async (options) => (await page(options)).items,
    page,
    async *all(options = {}) {
      let position: EventPosition | undefined = {}
      while (position !== undefined) {
        const found: Awaited<ReturnType<typeof page>> = await page({
          limit: 200,
          ...options,
          ...position,
        })
        yield* found.items
        position = found.next
      }
    },
    follow: ({ project, ...options } = {}) => followEvents(transport, pathOf(project), options),
    export: (options = {}) => exportEvents(transport, options),
    async history({ signal, ...query } = {}) {
      const operation = { ...readList('/history', query), signal }
      const { body, headers } = await transport.send(operation)
      const next = nextPage(headers, transport.url)?.get('after') ?? undefined
      return { items: body as HistoryEvent[], ...(next === undefined ? {} : { next }) }
    },
  }
}

const pathOf = (project: string | undefined) =>
  project === undefined ? systemPath : `/projects/${pathSegment(project, 'project')}${systemPath}`

function positionIn(next: URLSearchParams): EventPosition {
  const [after, before] = [next.get('after'), next.get('before')]
  return {
    ...(after === null ? {} : { after }),
    ...(before === null ? {} : { before }),
  }
}

/** See `EventOperations.export`. */
async function* exportEvents(
  transport: Transport,
  { project, signal, ...query }: CallOptions & EventQuery,
): AsyncGenerator<string, void, undefined> {
  const headers = { accept: 'application/x-ndjson' }
  const operation: Operation = { ...read(pathOf(project)), query, headers, signal }
  const silence = createDeadline(maxSilenceMs, signal)
  try {
    const response = await transport.open(operation, silence.signal)
    for await (const chunk of textChunks(response)) {
      silence.restart()
      yield chunk
    }
  } catch (cause) {
    throw transport.toError(operation, cause, silence.expired())
  } finally {
    silence.clear()
  }
}
