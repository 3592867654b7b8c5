import { setTimeout as delay } from 'node:timers/promises'
import {
  createKey,
  createProject,
  createReplicas,
  type Replica,
} from '../test/support/server/replicas.ts'
import type { Figure } from './report/figures.ts'
import { spreadOf } from './report/spread.ts'
import type { Databases } from './server/subject.ts'

/** Milliseconds between two looks at a key set. */
const pace = 2

/**
 * How long after a key was switched off by one replica the key set of the other one still has it.
 * Somebody asks for it all the time, so that it is in the memory of both.
 */
export async function measureRevocations(databases: Databases, count: number): Promise<Figure> {
  const replicas = createReplicas((await databases.make('postgres')).url)
  const times: number[] = []
  try {
    const one = await replicas.add()
    const other = await replicas.add()
    const project = await createProject(one, 'bench-revoked')
    await createKey(one, project)
    for (let done = 0; done < count; done += 1) times.push(await revoke(one, other, project))
  } finally {
    await replicas.close()
  }
  return {
    name: `deactivated to gone from the JWKS, slowest of ${count}`,
    server: 'PostgreSQL, 2 replicas',
    unit: 'ms',
    value: spreadOf([Math.max(...times)]),
    target: { most: 1_000 },
    note: `on the other replica, from the answer on; the median is ${spreadOf(times).median.toFixed(0)}`,
  }
}

async function revoke(one: Replica, other: Replica, project: string): Promise<number> {
  const created = await createKey(one, project)
  const { kid } = JSON.parse(created.body)
  while (!(await isPublished(other, project, kid))) await delay(pace)
  // At any moment of the look-ups, not in step with them.
  await delay(Math.random() * 500)
  if (!(await isPublished(other, project, kid))) throw new Error('an active key is not published')
  const path = `/v1/projects/${project}/jwt-keys/${kid}`
  const { status, body } = await one.call('PATCH', path, { active: false })
  if (status !== 200) throw new Error(`not deactivated: ${status} ${body}`)
  const began = performance.now()
  while (await isPublished(other, project, kid)) await delay(pace)
  const took = performance.now() - began
  await one.call('DELETE', path)
  return took
}

async function isPublished(replica: Replica, project: string, kid: string): Promise<boolean> {
  const { status, body } = await replica.call(
    'GET',
    `/v1/projects/${project}/.well-known/jwks.json`,
  )
  if (status !== 200) throw new Error(`no key set: ${status} ${body}`)
  return JSON.parse(body).keys.some((key: { kid: string }) => key.kid === kid)
}
