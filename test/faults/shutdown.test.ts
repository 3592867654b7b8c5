import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { Agent, get } from 'node:http'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { countLost, recordFault } from '../support/faults/results.ts'
import {
  type RawConnection,
  rawConnection,
  requestHead,
} from '../support/network/raw-connection.ts'
import { createServerClient, highLimits } from '../support/server/client.ts'
import { type ServerProcess, startServer, temporaryFolder } from '../support/server/process.ts'
import { expectWithin } from '../support/timing.ts'

const { folder } = temporaryFolder()

/** With the log line of the shutdown. */
const logged = { ...highLimits, PUBRING_LOG_LEVEL: 'info', PUBRING_SHUTDOWN_GRACE: '60s' }

interface Outcome {
  answered: number
  broken: number
}

function createFolder(name: string): string {
  const where = join(folder, name)
  mkdirSync(where)
  return where
}

/**
 * Counts the requests of a client that sends them without pauses, on a persistent connection if
 * possible, until one is refused.
 */
async function busy(url: string, outcome: Outcome): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  let refused = false
  while (!refused) {
    await new Promise<void>((resolve) => {
      const request = get(url, { agent }, (response) => {
        response.resume().once('end', () => {
          outcome.answered += 1
          resolve()
        })
      })
      request.once('error', (error) => {
        if ('code' in error && error.code === 'ECONNREFUSED') refused = true
        else outcome.broken += 1
        resolve()
      })
    })
  }
  agent.destroy()
}

/** A readiness check without its last line, which keeps the connection open while the server closes. */
async function unfinishedRequest({ url }: ServerProcess): Promise<RawConnection> {
  const connection = rawConnection(url)
  const live = requestHead('GET /health/live HTTP/1.1', 'Host: x')
  connection.socket.write(`${live}GET /health/ready HTTP/1.1\r\nHost: x\r\n`)
  await connection.waitFor(/"status":"ok"/)
  return connection
}

test('SIGTERM with creates in flight, idle connections and busy clients completes all accepted requests and exits with 0', async () => {
  const where = createFolder('busy')
  const server = await startServer(where, logged)
  const client = createServerClient(server, server.apiKey)
  const idle = Array.from({ length: 20 }, () => rawConnection(server.url))
  for (const { socket, waitFor } of idle) {
    socket.write(requestHead('GET /health/live HTTP/1.1', 'Host: x'))
    await waitFor(/"status":"ok"/)
  }
  const jwks = `${server.url}/v1/projects/default/.well-known/jwks.json`
  const outcome = { answered: 0, broken: 0 }
  const clients = Array.from({ length: 8 }, () => busy(jwks, outcome))
  await expect.poll(() => outcome.answered).toBeGreaterThan(100)
  const held = fetch(jwks, {
    headers: {
      prefer: 'wait=60',
      'if-none-match': String((await fetch(jwks)).headers.get('etag')),
    },
  })
  const ready = await unfinishedRequest(server)
  const creates = Array.from({ length: 50 }, () => client.create())
  await Promise.race(creates)
  const start = performance.now()
  server.signal('SIGTERM')
  await expect.poll(server.output).toContain('shutting down')
  ready.socket.write('\r\n')
  expect(await ready.closed).toMatch(/HTTP\/1.1 503 /)
  const acknowledged = (await Promise.all(creates)).map(String)
  expect(acknowledged).not.toContain('undefined')
  expect([200, 304]).toContain((await held).status)
  expect(await server.ended).toBe(0)
  const elapsed = performance.now() - start
  expectWithin(10_000, elapsed)
  await Promise.all(idle.map(({ closed }) => closed))
  await Promise.all(clients)
  // Only a new connection at the moment when listening ends can be refused.
  expect(outcome.broken).toBeLessThanOrEqual(clients.length)

  const again = await startServer(where, highLimits)
  const kids = await createServerClient(again, server.apiKey).kids()
  expect(kids.toSorted()).toEqual(acknowledged.toSorted())
  again.signal('SIGKILL')
  await again.ended
  recordFault({
    fault: 'SIGTERM under load',
    observed: `readiness 503; every create 201; ${outcome.answered} key sets answered, ${outcome.broken} broken; idle connections closed; exit 0 after ${(elapsed / 1_000).toFixed(1)} s`,
    acknowledged: acknowledged.length,
    lost: countLost(acknowledged, kids),
  })
})

test('a request that never ends does not delay the exit beyond the limit', async () => {
  const server = await startServer(createFolder('endless'), {
    ...highLimits,
    PUBRING_SHUTDOWN_GRACE: '2s',
  })
  const slow = rawConnection(server.url)
  const head = ['POST /v1/projects/default/jwt-keys HTTP/1.1', 'Host: x', 'Content-Length: 1000']
  slow.socket.write(
    requestHead(...head, `X-Api-Key: ${server.apiKey}`, 'Content-Type: application/json'),
  )
  await delay(200)
  const start = performance.now()
  server.signal('SIGTERM')
  expect(await server.ended).toBe(0)
  const elapsed = performance.now() - start
  expect(elapsed).toBeGreaterThan(1_000)
  expectWithin(2_500, elapsed)
})

test('a second SIGTERM ends the process immediately', async () => {
  const server = await startServer(createFolder('twice'), logged)
  await unfinishedRequest(server)
  server.signal('SIGTERM')
  await expect.poll(server.output).toContain('shutting down')
  const start = performance.now()
  server.signal('SIGTERM')
  expect(await server.ended).toBe(70)
  const elapsed = performance.now() - start
  // The unfinished request would be waited for until the end of the grace period, a minute.
  expectWithin(350, elapsed)
  recordFault({
    fault: 'A second SIGTERM',
    observed: `exit code 70, ${Math.round(elapsed)} ms after the second`,
    acknowledged: 0,
    lost: 0,
  })
})

test('requests that arrive while the process is stopped are answered before it shuts down', async () => {
  const server = await startServer(createFolder('stopped'), logged)
  const early = rawConnection(server.url)
  await once(early.socket, 'connect')
  server.signal('SIGTERM')
  await expect.poll(server.output).toContain('shutting down')
  // The time for which it still listens passes before it reads what arrived meanwhile.
  server.signal('SIGSTOP')
  const late = Array.from({ length: 50 }, () => rawConnection(server.url))
  for (const { socket } of [early, ...late]) {
    socket.write(requestHead('GET /health/live HTTP/1.1', 'Host: x'))
  }
  // Twice as long as it goes on listening, by the clock of the machine.
  for (let pause = 0; pause < 2; pause += 1) await delay(400)
  server.signal('SIGCONT')
  const texts = await Promise.all([early, ...late].map(({ closed }) => closed))
  expect(texts.map((text) => text.slice(0, 12))).toEqual(Array(51).fill('HTTP/1.1 200'))
  expect(await server.ended).toBe(0)
})
