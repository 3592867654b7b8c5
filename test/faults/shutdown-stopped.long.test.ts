import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, expect, test } from 'vitest'
import { rawConnection, requestHead } from '../support/network/raw-connection.ts'
import { highLimits } from '../support/server/client.ts'
import { startServer, temporaryFolder } from '../support/server/process.ts'

const { folder, remove } = temporaryFolder()
afterAll(remove)

/** With the log line of the shutdown. */
const logged = { ...highLimits, PUBRING_LOG_LEVEL: 'info', PUBRING_SHUTDOWN_GRACE: '60s' }

test('requests that arrive while the process is stopped are answered before it shuts down', async () => {
  const server = await startServer(folder, logged)
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
  // Longer than it goes on listening, by the clock of the machine.
  await delay(800)
  server.signal('SIGCONT')
  const texts = await Promise.all([early, ...late].map(({ closed }) => closed))
  expect(texts.map((text) => text.slice(0, 12))).toEqual(Array(51).fill('HTTP/1.1 200'))
  expect(await server.ended).toBe(0)
})
