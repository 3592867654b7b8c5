import { createProject, kidsOf } from '../../test/support/server/replicas.ts'
import type { Call } from '../load/task.ts'
import type { BenchServer } from '../server/start.ts'

/** Bytes of `{"kid":"…"}`. */
const kidLength = 46

/** Creates this many projects; returns their ids. */
export async function createProjects({ replica }: BenchServer, count: number): Promise<string[]> {
  const prefix = `bench-${process.pid}-${Math.round(performance.now())}`
  const names = Array.from({ length: count }, (_, index) => `${prefix}-${index}`)
  const ids: string[] = []
  // All of them wait for the lock of the system ledger, so few at a time.
  for (let from = 0; from < count; from += 4) {
    const batch = names.slice(from, from + 4)
    ids.push(...(await Promise.all(batch.map((name) => createProject(replica, name)))))
  }
  return ids
}

/** Requests that register the keys, in the projects by turns. */
export function createCalls(
  { replica }: BenchServer,
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
  { replica, name }: BenchServer,
  projects: string[],
  bodies: string[],
): Promise<void> {
  const listed = new Set((await Promise.all(projects.map((id) => kidsOf(replica, id)))).flat())
  const missing = bodies.filter((body) => !listed.has(JSON.parse(body).kid))
  if (missing.length > 0) throw new Error(`${name} lost ${missing.length} keys: ${missing[0]}`)
}
