import type { Call } from '../load/task.ts'
import { capture } from '../server/capture.ts'
import type { Subject } from '../server/subject.ts'

/** A filled registry behind a running server. */
export interface Registry {
  subject: Subject
  /** Ids of the projects that hold keys, in the order of the list. */
  projects: string[]
}

/** Reads the list of projects to its end. */
export async function openRegistry(subject: Subject): Promise<Registry> {
  const projects: string[] = []
  let path: string | undefined = '/v1/projects?limit=200'
  while (path !== undefined) {
    const { headers, body } = await capture(subject.port, get(subject, path))
    const page: { id: string; name: string }[] = JSON.parse(body)
    projects.push(...page.filter(({ name }) => name.startsWith('bench-')).map(({ id }) => id))
    const link = headers[headers.indexOf('link') + 1] ?? ''
    path = /<[^>]*(\/v1\/projects\?[^>]*)>; rel="next"/.exec(link)?.[1]
  }
  return { subject, projects }
}

type Request = Omit<Call, 'expected'>

export function get({ replica }: Subject, path: string): Request {
  return { method: 'GET', path, headers: { 'X-Api-Key': replica.apiKey } }
}

/** The same request again and again, whose answer is known to the octet. */
export async function known({ port }: Subject, request: Request): Promise<Call[]> {
  const { status, body } = await capture(port, request)
  if (status !== 200) throw new Error(`${request.path} answers ${status}`)
  return [{ ...request, expected: { status, body } }]
}

/** So many projects, any of them, some perhaps more than once. */
export function anyOf({ projects }: Registry, count: number): string[] {
  return Array.from(
    { length: count },
    () => projects[Math.floor(Math.random() * projects.length)] ?? '',
  )
}
