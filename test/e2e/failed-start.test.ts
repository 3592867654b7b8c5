import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { recordFault } from '../support/faults/results.ts'
import { spawnServer, startServer, temporaryFolder } from '../support/server/process.ts'

const { folder: parent } = temporaryFolder()

test.concurrent.each(['PUBRING_PORT', 'PUBRING_METRICS_PORT'])(
  'a start whose %s is in use fails with one line',
  async (setting) => {
    const folder = mkdtempSync(join(parent, 'start-'))
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const address = taken.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    const server = await spawnServer(folder, { [setting]: String(port) })
    expect(await server.ended).toBe(70)
    expect(server.output()).toContain(`${setting}`)
    expect(server.output().trim().split('\n')).toHaveLength(1)
    taken.close()
    // The API key is created by the start that shows it.
    const second = await startServer(folder)
    expect(second.apiKey).toMatch(/^pubring_/)
    second.signal('SIGTERM')
    expect(await second.ended).toBe(0)
    recordFault({
      fault: 'Start on a port that is in use',
      observed:
        'exit code 1 and one line that names the setting; no API key is created, and the next start prints the first one',
      acknowledged: 0,
      lost: 0,
    })
  },
)
