import { expect, test } from 'vitest'
import { startApp } from '../../../support/app/app.ts'
import { keysUrl, registerKey } from '../../../support/app/keys.ts'

let time = Date.parse('2030-01-01T00:00:00.000Z')

const server = await startApp({ clock: { now: () => time, monotonic: () => performance.now() } })

test('an expiring key changes the list, the active list and the single read at its expireTime, without a write', async () => {
  const expireTime = new Date(time + 60_000).toISOString()
  const kid = await registerKey(server, { expireTime })
  const one = async () => (await server.send('GET', `${keysUrl}/${kid}`)).json().active
  const all = async () => (await server.send('GET', keysUrl)).json()[0].active
  const active = async () => (await server.send('GET', `${keysUrl}?active=true`)).json().length
  const before = (await server.send('GET', keysUrl)).headers.etag
  expect([await one(), await all(), await active()]).toEqual([true, true, 1])
  time += 59_999
  expect([await one(), await all(), await active()]).toEqual([true, true, 1])
  time += 1
  expect([await one(), await all(), await active()]).toEqual([false, false, 0])
  expect((await server.send('GET', keysUrl)).headers.etag).not.toBe(before)
  time -= 60_000
  expect([await one(), await all(), await active()]).toEqual([true, true, 1])
})
