import { Server } from 'node:net'
import { describe, expect, test } from 'vitest'
import { keySetOf } from '../../../../packages/server/src/features/keys/key-sets.ts'
import { startApp } from '../../../support/app/app.ts'
import { ecKey } from '../../../support/keys/pem.ts'
import { rawConnection, requestHead } from '../../../support/network/raw-connection.ts'
import { waitUntil } from '../../../support/waiting.ts'

const keys = '/v1/projects/payments/jwt-keys'

describe('shutdown', () => {
  test('answers accepted requests, closes idle connections, and closes the others after their response', async () => {
    const closing = await startApp()
    const base = await closing.listen()
    const idle = rawConnection(base)
    idle.socket.write(requestHead('GET /health/ready HTTP/1.1', 'Host: x'))
    await idle.waitFor(/"status":"ok"/)
    let begun = 0
    closing.app.server.on('request', () => {
      begun += 1
    })
    const accepted = Array.from({ length: 50 }, () => {
      const { publicKeyPem } = ecKey()
      const body = JSON.stringify({ name: 'n', algorithm: 'ES256', publicKeyPem })
      const connection = rawConnection(base)
      const head = [`POST ${keys} HTTP/1.1`, 'Host: x', `X-Api-Key: ${closing.admin}`]
      const length = `Content-Length: ${Buffer.byteLength(body)}`
      connection.socket.write(requestHead(...head, 'Content-Type: application/json', length))
      return { connection, body }
    })
    await waitUntil(() => begun === accepted.length)
    const closed = closing.app.close()
    for (const { connection, body } of accepted) connection.socket.write(body)
    const answers = await Promise.all(accepted.map(({ connection }) => connection.closed))
    for (const answer of answers) {
      expect(answer).toMatch(/^HTTP\/1\.1 201 /)
      expect(answer.toLowerCase()).toContain('connection: close')
    }
    await idle.closed
    await closed
    const { keys: stored } = (await keySetOf(closing.context.store, closing.project.id)) ?? {
      keys: [],
    }
    expect(stored.length).toBe(50)
  })

  test('fails the readiness check first, and serves on connections that it closes once it has stopped listening', async () => {
    let routed = 0
    const draining = await startApp({
      async beforeRoutes(app) {
        app.addHook('onRequest', async () => {
          routed += 1
        })
      },
    })
    const base = await draining.listen()
    draining.app.readiness.shuttingDown = true
    const connection = rawConnection(base)
    const ready = requestHead('GET /health/ready HTTP/1.1', 'Host: x')
    connection.socket.write(ready)
    const first = await connection.waitFor(/"reason":"shutting_down"/)
    expect(first).toMatch(/^HTTP\/1\.1 503 /)
    expect(first.toLowerCase()).not.toContain('connection: close')
    const list = requestHead(`GET ${keys} HTTP/1.1`, 'Host: x', `X-Api-Key: ${draining.admin}`)
    // The response cache keeps what is asked for twice.
    const headers = { 'x-api-key': draining.admin }
    for (const count of [2, 3, 3]) {
      await (await fetch(base + keys, { headers })).text()
      expect(routed).toBe(count)
    }
    Server.prototype.close.call(draining.app.server)
    connection.socket.write(list)
    const last = (await connection.closed).slice(first.length)
    expect(last).toMatch(/^HTTP\/1\.1 200 /)
    expect(last.toLowerCase()).toContain('connection: close')
  })
})
