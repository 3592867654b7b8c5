import { connect, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { countLost, recordFault } from '../support/faults/results.ts'
import {
  chownToUnprivileged,
  createServerClient,
  highLimits,
  unprivilegedUid,
} from '../support/server/client.ts'
import { startServer, temporaryFolder } from '../support/server/process.ts'
import { waitUntil } from '../support/waiting.ts'

const { folder } = temporaryFolder()

test('more connections than descriptors: the process and its database continue, and new clients are served once descriptors are free', async () => {
  chownToUnprivileged(folder)
  const uid = unprivilegedUid()
  const wrapper = ['sh', '-c', 'ulimit -n 120; exec "$@"', 'sh']
  const server = await startServer(folder, highLimits, {
    wrapper,
    ...(uid === undefined ? {} : { uid }),
  })
  const client = createServerClient(server, server.apiKey)
  const acknowledged = [String(await client.create())]
  const { hostname, port } = new URL(server.url)
  const sockets = Array.from({ length: 400 }, (): Socket => {
    return connect(Number(port), hostname).on('error', () => {})
  })
  const open = () => sockets.filter(({ readyState }) => /open/.test(readyState)).length
  await expect.poll(open).toBeLessThan(120)
  const held = open()
  // The client's open connection is served all the time, and changes are durable.
  for (let count = 0; count < 10; count += 1) {
    const kid = await client.create()
    if (kid !== undefined) acknowledged.push(kid)
  }
  for (const socket of sockets) socket.destroy()
  await waitUntil(
    async () => (await client.create().then((kid) => kid && acknowledged.push(kid))) !== undefined,
  )
  expect(server.output().match(/"code":"connection_dropped"/g)).toHaveLength(1)
  const kids = await client.kids()
  expect(countLost(acknowledged, kids)).toBe(0)
  expect((await client.health('ready'))?.status).toBe(200)
  server.signal('SIGTERM')
  expect(await server.ended).toBe(0)
  recordFault({
    fault: 'File descriptors exhausted, and freed again',
    observed: `${held} of 400 connections kept, the others closed at once; changes succeed; new clients served as soon as descriptors are free`,
    acknowledged: acknowledged.length,
    lost: countLost(acknowledged, kids),
  })
})
