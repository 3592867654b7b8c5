import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { runLoad } from '../../bench/load/run.ts'
import type { Call, LoadTask } from '../../bench/load/task.ts'

async function serve(listener: RequestListener): Promise<number> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

/** Serves the tenth request wrongly. */
function wrongOnce(wrong: RequestListener): Promise<number> {
  let requests = 0
  return serve((request, response) => {
    requests += 1
    if (requests === 10) wrong(request, response)
    else response.end('right')
  })
}

function load(port: number, members: Partial<LoadTask> = {}, stopped?: Promise<void>) {
  const call: Call = {
    method: 'GET',
    path: '/',
    headers: {},
    expected: { status: 200, body: 'right' },
  }
  const calls = Array.from({ length: 100 }, () => call)
  return runLoad({ port, connections: 4, pids: [process.pid], calls, ...members }, stopped)
}

test('without a duration, each call is sent once and counted', async () => {
  let requests = 0
  const port = await serve((_request, response) => {
    requests += 1
    response.end('right')
  })
  const { answered, bodies, cpuMicros } = await load(port, { keepBodies: true })
  expect({ answered, requests, bodies: bodies.length }).toEqual({
    answered: 100,
    requests: 100,
    bodies: 100,
  })
  expect(cpuMicros).toBeGreaterThanOrEqual(0)
})

test('the rate is kept', async () => {
  const port = await serve((_request, response) => response.end('right'))
  const { answered, seconds } = await load(port, { seconds: 1, rate: 200 })
  expect(answered).toBeLessThanOrEqual(200 * seconds + 1)
  expect(answered).toBeGreaterThan(0)
})

test('a run without a duration lasts until it is stopped', async () => {
  const port = await serve((_request, response) => response.end('right'))
  const { answered } = await load(port, { rate: 50 }, delay(300))
  expect(answered).toBeGreaterThan(0)
  expect(answered).toBeLessThanOrEqual(16)
})

test.each<[string, RequestListener, RegExp]>([
  ['a different body', (_, response) => response.end('wrong'), /another body: wrong/],
  ['a shorter body', (_, response) => response.end('righ'), /4 bytes, not 5/],
  [
    'another status',
    (_, response) => {
      response.statusCode = 500
      response.end('right')
    },
    /status 500, not 200/,
  ],
  ['no response', (_, response) => response.destroy(), /ended a connection|ECONNRESET/],
])('one wrong response in a hundred fails the run: %s', async (_name, wrong, message) => {
  await expect(load(await wrongOnce(wrong))).rejects.toThrow(message)
})

test('a body without the required part fails the run', async () => {
  const port = await serve((_request, response) => response.end('right'))
  const call: Call = {
    method: 'GET',
    path: '/',
    headers: {},
    expected: { status: 200, length: 5, part: 'left' },
  }
  await expect(load(port, { calls: [call] })).rejects.toThrow(/no left in the body/)
})
