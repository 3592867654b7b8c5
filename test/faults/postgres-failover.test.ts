import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { verifyLedgers } from '../../packages/server/src/kernel/ledger/all-ledgers.ts'
import { isWhole } from '../../packages/server/src/kernel/ledger/verification.ts'
import { openLedgerReader } from '../../packages/server/src/registry.ts'
import { recordFault } from '../support/faults/results.ts'
import { createPostgres } from '../support/postgres/server.ts'
import { addSynchronousStandby, primarySettings } from '../support/postgres/standby.ts'
import {
  createKey,
  createProject,
  createReplicas,
  kidsOf,
  publishedKids,
} from '../support/server/replicas.ts'
import { expectWithin } from '../support/timing.ts'

const primary = await createPostgres(primarySettings)
await primary.start()
await primary.query('create database pubring')
const standby = await addSynchronousStandby(primary)
const hosts = `127.0.0.1:${standby.port},127.0.0.1:${primary.port}`
const url = `postgres://postgres@${hosts}/pubring`
const replicas = createReplicas(url)

test('the primary dies with 200 creates in flight: the standby takes over, and no acknowledged key is lost or duplicated', async () => {
  const [one, other] = [await replicas.add(), await replicas.add()]
  const projects = Array.from({ length: 10 }, (_, index) => `p-${index}`)
  for (const project of projects) await createProject(one, project)
  await Promise.all(projects.map((project) => createKey(other, project)))

  let answered = 0
  const creates = Array.from({ length: 200 }, async (_, index) => {
    const project = projects[index % 10] ?? ''
    const response = await createKey(index % 2 === 0 ? one : other, project)
    answered += 1
    return { project, response }
  })
  while (answered < 20) await delay(1)
  await primary.stop('SIGKILL')
  expect(answered).toBeLessThan(150)
  const died = performance.now()
  await standby.query('select pg_promote(true)')
  const writes: number[] = []
  for (const replica of [one, other]) {
    while ((await createKey(replica, 'p-0')).status !== 201) await delay(50)
    writes.push(performance.now() - died)
  }
  expectWithin(15_000, Math.max(...writes))

  const outcomes = await Promise.all(creates)
  for (const { response } of outcomes) {
    expect([201, 503], response.body).toContain(response.status)
    expectWithin(15_000, response.ms)
  }
  const acknowledged = outcomes.filter(({ response }) => response.status === 201)
  expect(acknowledged.length).toBeGreaterThan(0)
  for (const project of projects) {
    const kids = await kidsOf(other, project)
    expect(new Set(kids).size).toBe(kids.length)
    const mine = acknowledged.filter((each) => each.project === project)
    expect(kids).toEqual(
      expect.arrayContaining(mine.map(({ response }) => JSON.parse(response.body).kid)),
    )
    expect(await publishedKids(other, project)).toEqual(kids)
    // One event per key, and one for the project.
    const { body } = await one.call('GET', `/v1/projects/${project}/events?limit=200`)
    expect(JSON.parse(body)).toHaveLength(kids.length + 1)
  }
  const ledgers = await openLedgerReader(url)
  const verdicts = await Array.fromAsync(verifyLedgers(ledgers))
  await ledgers.close()
  expect(verdicts.filter((verdict) => !isWhole(verdict))).toEqual([])
  for (const replica of [one, other]) {
    const lines = replica
      .output()
      .split('\n')
      .filter((line) => line.includes('another primary'))
    expect(lines).toHaveLength(1)
    const hosts = { before: `127.0.0.1:${primary.port}`, host: `127.0.0.1:${standby.port}` }
    expect(JSON.parse(lines[0] ?? '')).toMatchObject(hosts)
  }
  recordFault({
    fault: 'The primary killed, the synchronous standby promoted (PostgreSQL)',
    observed: `201 or 503 for each, within 15 s; the first 201 after ${(Math.max(...writes) / 1_000).toFixed(1)} s; one line in each log names both hosts`,
    acknowledged: acknowledged.length,
    lost: 0,
  })
})
