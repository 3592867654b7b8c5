import dns from 'node:dns/promises'
import { syncBuiltinESMExports } from 'node:module'
import { afterEach, expect, test, vi } from 'vitest'
import { listenOn } from '../../../../packages/server/src/listen.ts'
import { startApp, type TestApp } from '../../../support/app/app.ts'
import { rawExchange } from '../../../support/network/raw-connection.ts'

let server: TestApp | undefined
afterEach(async () => {
  vi.restoreAllMocks()
  syncBuiltinESMExports()
})

test('localhost is served on all its addresses until the server closes', async () => {
  const addresses = ['127.0.0.1', '127.0.0.2', '127.0.0.3'].map((address) => ({
    address,
    family: 4,
  }))
  vi.spyOn(dns, 'lookup').mockImplementation(async () => addresses as never)
  syncBuiltinESMExports()
  server = await startApp()
  await listenOn(server.app, { host: 'localhost', port: 0 })
  const { port } = server.app.server.address() as { port: number }
  for (const { address } of addresses) {
    const url = `http://${address}:${port}`
    expect((await fetch(`${url}/health/live`)).status).toBe(200)
    expect(await rawExchange(url, 'GARBAGE\r\n\r\n')).toContain('application/problem+json')
  }
})
