import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { countLost, recordFault } from '../support/faults/results.ts'
import { createServerClient, freshPem, highLimits } from '../support/server/client.ts'
import { startServer, temporaryFolder } from '../support/server/process.ts'
import { waitUntil } from '../support/waiting.ts'

const { folder } = temporaryFolder()

const each = 334

function memory(pid: number): number {
  const [, kilobytes] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kilobytes) / 1_024
}

test('1,000 connections that send a byte at a time, or do not read, are closed and do not affect other clients', async () => {
  const server = await startServer(folder, highLimits)
  const client = createServerClient(server, server.apiKey)
  const acknowledged: string[] = []
  for (let count = 0; count < 100; count += 1) acknowledged.push(String(await client.create()))
  const before = memory(server.pid)
  const { hostname, port } = new URL(server.url)
  const ended = { headers: 0, bodies: 0, readers: 0 }
  const open = (kind: keyof typeof ended): Socket => {
    const socket = connect(Number(port), hostname)
    return socket
      .on('error', () => {})
      .on('close', () => {
        ended[kind] += 1
      })
  }
  const auth = `X-Api-Key: ${server.apiKey}\r\n`
  const readers = Array.from({ length: each }, () => open('readers').pause())
  const list = `GET /v1/projects/default/jwt-keys HTTP/1.1\r\nHost: x\r\n${auth}\r\n`
  // Some hundred kilobytes of lists each, which they do not read.
  for (const socket of readers) {
    socket.write(list.repeat(8))
    await delay(25)
  }
  const headers = Array.from({ length: each }, () => open('headers'))
  for (const socket of headers) socket.write('GET /v1/projects HTTP/1.1\r\nHost: x\r\nX-Slow: ')
  const bodies = Array.from({ length: each }, () => open('bodies'))
  for (const socket of bodies) {
    const head = 'POST /v1/projects HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n'
    socket.write(`${head}${auth}Content-Length: 60000\r\n\r\n{"name":"`)
  }
  const drip = setInterval(() => {
    for (const socket of [...headers, ...bodies]) if (socket.writable) socket.write('a')
  }, 2_000)

  await waitUntil(async () => (await client.create()) !== undefined)
  acknowledged.push(...(await client.kids()).slice(acknowledged.length))

  const elapsed: number[] = []
  let most = 0
  const until = performance.now() + 40_000
  while (performance.now() < until) {
    const body = { name: 'k', algorithm: 'ES256', publicKeyPem: freshPem() }
    const creating = client.send('POST', '/v1/projects/default/jwt-keys', body)
    const [created, ...reads] = await Promise.all([creating, client.jwks(), client.health('live')])
    expect(created?.status, created?.text).toBe(201)
    acknowledged.push(JSON.parse(created?.text ?? '').kid)
    for (const response of reads) {
      expect(response?.status, response?.text).toBe(200)
      elapsed.push(response?.ms ?? Number.POSITIVE_INFINITY)
    }
    most = Math.max(most, memory(server.pid))
    await delay(50)
  }
  clearInterval(drip)
  expect(ended.headers).toBe(each)
  expect(ended.bodies).toBe(each)
  for (const socket of readers) socket.destroy()
  elapsed.sort((a, b) => a - b)
  const p99 = elapsed[Math.floor(elapsed.length * 0.99)] ?? 0
  expect(elapsed.at(-1)).toBeLessThan(10_000)
  expect(p99).toBeLessThan(2_000)
  expect(most - before).toBeLessThan(400)
  const lost = countLost(acknowledged, await client.kids())
  expect(lost).toBe(0)
  server.signal('SIGTERM')
  expect(await server.ended).toBe(0)
  recordFault({
    fault: 'Slow headers, slow bodies, slow readers',
    observed: `of ${3 * each} connections, slow senders are closed after 20 and 30 s; other clients: 99 % of key sets within ${Math.round(p99)} ms, every create 201; ${Math.round(most - before)} MB more memory`,
    acknowledged: acknowledged.length,
    lost,
  })
})
