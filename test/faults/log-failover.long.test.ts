import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createKeyFile } from '../support/log/key-file.ts'
import { createPostgres } from '../support/postgres/server.ts'
import { addSynchronousStandby, primarySettings } from '../support/postgres/standby.ts'
import { createProject, createReplicas } from '../support/server/replicas.ts'

const primary = await createPostgres(primarySettings)
await primary.start()
await primary.query('create database pubring')
const standby = await addSynchronousStandby(primary)
await primary.query("alter system set synchronous_standby_names = ''")
await primary.query('select pg_reload_conf()')
const hosts = `127.0.0.1:${standby.port},127.0.0.1:${primary.port}`
const replicas = createReplicas(`postgres://postgres@${hosts}/pubring`)
const key = createKeyFile()

test('a standby that lacks signed changes takes over: the log stops and says so, until an admin restarts it with a new key', async () => {
  const server = await replicas.add({ PUBRING_LOG_KEY_FILE: key.file })
  const sign = () => server.call('POST', '/v1/log/checkpoints')
  await createProject(server, 'kept')
  const first = JSON.parse((await sign()).body)
  const inStandby = `select 1 from log_tree where checkpoint_size = ${first.size}`
  while ((await standby.query(inStandby, 'pubring')).length === 0) await delay(20)
  await standby.stop()
  await createProject(server, 'lost')
  expect(JSON.parse((await sign()).body).size).toBe(first.size + 3)
  await primary.stop('SIGKILL')
  await standby.start()
  await standby.query('select pg_promote(true)')
  while ((await server.call('POST', '/v1/projects', { name: 'after' })).status !== 201) {
    await delay(50)
  }

  for (const _attempt of [1, 2]) {
    const stopped = JSON.parse((await sign()).body)
    expect(stopped).toMatchObject({ code: 'log_stopped', errors: [{ code: 'diverged' }] })
  }
  expect(server.output()).toContain('the log has stopped')
  const published = await fetch(`${server.url}/log/checkpoint`)
  expect(await published.text()).toBe(first.checkpoint)

  key.replace()
  const next = await replicas.add({ PUBRING_LOG_KEY_FILE: key.file })
  const started = await next.call('POST', '/v1/log/restarts')
  expect(started.status, started.body).toBe(201)
  expect(JSON.parse(started.body).origin).not.toBe(first.origin)
  expect((await next.call('POST', '/v1/log/checkpoints')).status).toBe(201)
}, 90_000)
