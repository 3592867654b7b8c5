import { createProject, kidsOf } from '../../test/support/server/replicas.ts'
import type { Call } from '../load/task.ts'
import type { Subject } from '../server/subject.ts'

/** Octets of `{"kid":"…"}`. */
const kidLength = 46

/** Distinguishes the projects of all rounds of a run. */
let made = 0

/** Makes so many projects; answers their ids. */
export async function newProjects({ replica }: Subject, count: number): Promise<string[]> {
  const names = Array.from({ length: count }, () => {
    made += 1
    return `bench-${process.pid}-${made}`
  })
  const ids: string[] = []
  // All of them wait for the system's ledger: few at once.
  for (let from = 0; from < count; from += 4) {
    const some = names.slice(from, from + 4)
    ids.push(...(await Promise.all(some.map((name) => createProject(replica, name)))))
  }
  return ids
}

/** The requests that register the keys, in the projects by turns. */
export function createCalls(
  { replica }: Subject,
  projects: string[],
  algorithm: 'ES256' | 'RS256',
  pems: string[],
): Call[] {
  return pems.map((publicKeyPem, index) => ({
    method: 'POST',
    path: `/v1/projects/${projects[index % projects.length]}/jwt-keys`,
    headers: { 'X-Api-Key': replica.apiKey, 'Content-Type': 'application/json' },
    body: JSON.stringify({ name: 'bench', algorithm, publicKeyPem }),
    expected: { status: 201, length: kidLength },
  }))
}

/** Throws unless the server lists every kid that it acknowledged. */
export async function requireListed(
  { replica, name }: Subject,
  projects: string[],
  bodies: string[],
): Promise<void> {
  const listed = new Set((await Promise.all(projects.map((id) => kidsOf(replica, id)))).flat())
  const missing = bodies.filter((body) => !listed.has(JSON.parse(body).kid))
  if (missing.length > 0) throw new Error(`${name} lost ${missing.length} keys: ${missing[0]}`)
}
