import { setTimeout as delay } from 'node:timers/promises'
import {
  createProject,
  createReplicas,
  publishedKids,
  type Replica,
  registerKey,
} from '../../test/support/server/replicas.ts'
import type { Figure } from '../report/figures.ts'
import { spreadOf } from '../report/spread.ts'
import type { Databases } from '../server/databases.ts'

const pollIntervalMs = 2

/**
 * How long the key set of one replica still contains a key after another replica has deactivated it.
 * The key set is requested all the time, so both replicas have it cached.
 */
export async function measureRevocations(databases: Databases, count: number): Promise<Figure> {
  const replicas = createReplicas((await databases.create('postgres')).url)
  const times: number[] = []
  try {
    const one = await replicas.add()
    const other = await replicas.add()
    const project = await createProject(one, 'bench-revoked')
    await registerKey(one, project)
    for (let done = 0; done < count; done += 1) times.push(await revoke(one, other, project))
  } finally {
    await replicas.close()
  }
  return {
    name: `deactivated to gone from the JWKS, slowest of ${count}`,
    server: 'PostgreSQL, 2 replicas',
    unit: 'ms',
    value: spreadOf([Math.max(...times)]),
    target: { max: 1_000 },
    note: `on the other replica, from the response on; the median is ${spreadOf(times).median.toFixed(0)}`,
  }
}

async function revoke(one: Replica, other: Replica, project: string): Promise<number> {
  const kid = await registerKey(one, project)
  const isPublished = async () => (await publishedKids(other, project)).includes(kid)
  while (!(await isPublished())) await delay(pollIntervalMs)
  // At a random time between two polls of the database, not in step with them.
  await delay(Math.random() * 500)
  if (!(await isPublished())) throw new Error('an active key is not published')
  const path = `/v1/projects/${project}/jwt-keys/${kid}`
  const { status, body } = await one.call('PATCH', path, { active: false })
  if (status !== 200) throw new Error(`not deactivated: ${status} ${body}`)
  const start = performance.now()
  while (await isPublished()) await delay(pollIntervalMs)
  const ms = performance.now() - start
  await one.call('DELETE', path)
  return ms
}
