import { lookup } from 'node:dns/promises'
import { afterEach, expect, test, vi } from 'vitest'
import { listenOn } from '../../../src/http/listen.ts'
import { startApp, type TestApp } from '../../support/app/app.ts'
import { rawExchange } from '../../support/network/raw-connection.ts'

vi.mock('node:dns/promises')

let server: TestApp | undefined
afterEach(() => server?.close())

test('localhost is served on all its addresses until the server closes', async () => {
  const addresses = ['127.0.0.1', '127.0.0.2', '127.0.0.3'].map((address) => ({
    address,
    family: 4,
  }))
  vi.mocked(lookup).mockImplementation(async () => addresses as never)
  server = await startApp()
  await listenOn(server.app, { host: 'localhost', port: 0 })
  const { port } = server.app.server.address() as { port: number }
  for (const { address } of addresses) {
    const url = `http://${address}:${port}`
    expect((await fetch(`${url}/health/live`)).status).toBe(200)
    expect(await rawExchange(url, 'GARBAGE\r\n\r\n')).toContain('application/problem+json')
  }
})
