import { readFileSync } from 'node:fs'
import { newId } from '../../../packages/server/src/kernel/values/ids.ts'

interface Operation {
  requestBody?: { content: Record<string, unknown> }
  responses?: object
}

/** The paths of the committed document, which openapi.test.ts compares with the application's. */
export const { paths }: { paths: Record<string, Record<string, Operation>> } = JSON.parse(
  readFileSync('docs/openapi.json', 'utf8'),
)

/** All operations of the API. `url` is a path of this project, with unknown ids. */
export const apiOperations = Object.entries(paths).flatMap(([path, item]) =>
  Object.entries(item).map(([verb, operation]) => ({
    name: `${verb.toUpperCase()} ${path}`,
    method: verb.toUpperCase() as 'GET' | 'POST' | 'PATCH' | 'DELETE',
    takesJson: operation.requestBody?.content['application/json'] !== undefined,
    url: (project: string) =>
      path.replace('{projectIdOrName}', project).replace(/\{\w+\}/, newId()),
  })),
)
