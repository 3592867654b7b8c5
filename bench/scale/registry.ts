import type { Call } from '../load/task.ts'
import { capture } from '../server/capture.ts'
import type { BenchServer } from '../server/start.ts'

/** A filled registry behind a running server. */
export interface Registry {
  server: BenchServer
  /** Ids of the projects with keys, in the order of the list. */
  projects: string[]
}

/** Reads the list of projects to its end. */
export async function openRegistry(server: BenchServer): Promise<Registry> {
  const projects: string[] = []
  let path: string | undefined = '/v1/projects?limit=200'
  while (path !== undefined) {
    const { headers, body } = await capture(server.port, getRequest(server, path))
    const page: { id: string; name: string }[] = JSON.parse(body)
    projects.push(...page.filter(({ name }) => name.startsWith('bench-')).map(({ id }) => id))
    const link = headers[headers.indexOf('link') + 1] ?? ''
    path = /<[^>]*(\/v1\/projects\?[^>]*)>; rel="next"/.exec(link)?.[1]
  }
  return { server, projects }
}

export function getRequest({ replica }: BenchServer, path: string): Omit<Call, 'expected'> {
  return { method: 'GET', path, headers: { 'X-Api-Key': replica.apiKey } }
}

/** This many random projects, possibly some of them twice. */
export function randomProjects({ projects }: Registry, count: number): string[] {
  return Array.from(
    { length: count },
    () => projects[Math.floor(Math.random() * projects.length)] ?? '',
  )
}
