import type { Search, Warning } from '@pubring/client'
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
        { heading: 'ID', value: ({ id }) => id, id: true },
        { heading: 'NAME', value: ({ name }) => name, cut: true },
        { heading: 'PROJECT', value: ({ project }) => project, cut: true },
        { heading: 'STATE', value: ({ state }) => state },
        { heading: 'MATCHED', value: ({ matched }) => matched },
      ],
      found.results.map(rowOf),
    ),
  )
  if (found.results.length === 0) notify('Nothing was found that the API key may see.')
  if (found.hasMore) notify('There are more results. Search for more of the text.')
}

function rowOf(result: Result) {
  const { type, matched } = result
  if (type === 'project') {
    const { id, name } = result
    return { type, matched, id, name, project: id, state: '' }
  }
  const { kid: id, label: name, projectId, projectName: project = projectId, state } = result
  return { type, matched, id, name, project, state }
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
        { heading: 'DETAIL', value: ({ detail }) => detail, below: true },
      ],
      warnings,
    ),
  )
  if (warnings.length === 0) notify('There are no warnings.')
}
