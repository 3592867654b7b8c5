import { once } from 'node:events'
import { createServer } from 'node:net'
import { afterAll, expect, test } from 'vitest'
import { spawnServer, temporaryFolder } from '../support/server/process.ts'

const { folder, remove } = temporaryFolder()
afterAll(remove)

test.each([
  { setting: 'PUBRING_PORT', workers: '1' },
  { setting: 'PUBRING_METRICS_PORT', workers: '1' },
  { setting: 'PUBRING_PORT', workers: '2' },
  { setting: 'PUBRING_METRICS_PORT', workers: '2' },
])(
  'a start with $workers workers whose $setting is in use fails with one line',
  async ({ setting, workers }) => {
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const address = taken.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    const server = await spawnServer(folder, { PUBRING_WORKERS: workers, [setting]: String(port) })
    expect(await server.ended).toBe(1)
    expect(server.output()).toContain(`${setting}`)
    expect(server.output()).not.toMatch(/^\s+at /m)
    taken.close()
  },
)
