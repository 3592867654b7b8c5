import type { Search, Warning } from '../../../client/src/index.ts'
import type { Session } from '../connection/session.ts'
import { formatTable, timeColumn } from '../terminal/table.ts'

type Result = Search['results'][number]

/** Shows what the text finds in all projects that the API key may see. */
export async function search(session: Session, text: string): Promise<void> {
  const { client, terminal, print, notify } = session
  const found = await client.search(text, { limit: 50 })
  print(found, () =>
    formatTable(
      terminal,
      [
        { heading: 'TYPE', value: ({ type }) => type },
        { heading: 'ID', value: idOf },
        { heading: 'NAME', value: nameOf, cut: true },
        { heading: 'PROJECT', value: projectOf, cut: true },
        { heading: 'STATE', value: stateOf },
        { heading: 'MATCHED', value: ({ matched }) => matched },
      ],
      found.results,
    ),
  )
  if (found.results.length === 0) notify('Nothing was found that the API key may see.')
  if (found.hasMore) notify('There are more results. Search for more of the text.')
}

function idOf(result: Result): string {
  if (result.type === 'key') return result.kid
  return result.type === 'event' ? result.subject.id : result.id
}

function nameOf(result: Result): string {
  if (result.type === 'event') return `${result.eventType} ${result.label ?? ''}`.trim()
  return result.type === 'key' ? result.label : result.name
}

function projectOf(result: Result): string {
  if (result.type === 'project') return result.id
  if (result.type === 'key') return result.projectName ?? result.projectId
  return result.projectId ?? ''
}

function stateOf(result: Result): string {
  if (result.type === 'project') return ''
  if (result.type === 'event') return `revision ${result.revision}, ${result.time}`
  if ('deleteTime' in result) return `deleted ${result.deleteTime}`
  return result.active ? 'active' : 'inactive'
}

/** Shows what needs attention, the most urgent first. */
export async function showWarnings({ client, terminal, print, notify }: Session): Promise<void> {
  const warnings = await client.warnings()
  print(warnings, () =>
    formatTable<Warning>(
      terminal,
      [
        { heading: 'SEVERITY', value: ({ severity }) => severity },
        { heading: 'CODE', value: ({ code }) => code },
        { heading: 'PROJECT', value: ({ projectName = '' }) => projectName, cut: true },
        { heading: 'NAME', value: ({ label = '' }) => label, cut: true },
        { heading: 'ID', value: ({ kid, apiKeyId = '' }) => kid ?? apiKeyId, id: true },
        timeColumn('TIME', ({ time }) => time),
        { heading: 'DETAIL', value: ({ detail }) => detail, cut: true },
      ],
      warnings,
    ),
  )
  if (warnings.length === 0) notify('There are no warnings.')
}
