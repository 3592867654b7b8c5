import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { startApp } from '../../support/app/app.ts'
import { openKeySet, registerAndSign } from '../../support/app/key-set.ts'
import { heldRequests } from '../../support/app/keys.ts'
import { type HttpServer, startHttpServer } from '../../support/network/http-server.ts'
import { waitLimitMs, waitUntil } from '../../support/waiting.ts'

const server = await startApp({ http: { metrics: true } })
const issuer = `${await server.listen()}/v1/projects/${server.project.id}`
const kid = (await registerAndSign(server)).kid

test('closing a key set ends its long poll', async () => {
  const { keys } = openKeySet(issuer, { maxStale: 180_000 })
  await keys.ready()
  await expect.poll(() => heldRequests(server)).toBe(1)
  keys.close()
  await expect.poll(() => heldRequests(server)).toBe(0)
})

const sources = new URL('../../../packages/client/src/', import.meta.url).href

/** Runs a program and returns its output; rejects if it fails or does not end by itself. */
async function run(program: string): Promise<string> {
  const args = ['--input-type=module', '--no-warnings', '--eval', program]
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: waitLimitMs })
  return stdout.trim()
}

describe('a process with a key set', () => {
  test('waits for the first key, and exits during a long poll', async () => {
    const printed = await run(`
      import { projectKeySet } from '${sources}verify.ts'
      const keys = projectKeySet('${issuer}', { maxStale: 180_000 })
      const key = await keys({ alg: 'ES256', kid: '${kid}' })
      await new Promise((resolve) => setTimeout(resolve, 300))
      console.log(key.type, keys.state().status)
    `)
    expect(printed).toBe('public live')
  })

  test('exits while the key set waits for a retry', async () => {
    let requests = 0
    const dying = await startHttpServer((_, outgoing) => {
      requests += 1
      if (requests === 1) outgoing.writeHead(200, { etag: '"a"' }).end('{"keys":[]}')
      else outgoing.destroy()
    })
    const printed = await run(`
      import { projectKeySet } from '${sources}verify.ts'
      const keys = projectKeySet('${dying.url}/projects/a')
      await keys.ready()
      const pause = () => new Promise((resolve) => setTimeout(resolve, 20))
      while (keys.state().status !== 'interrupted') await pause()
      console.log(keys.state().status)
    `)
    expect(printed).toBe('interrupted')
  })

  test('receives the responses to its own requests, whichever connection they use', async () => {
    const slow = await slowServer()
    const printed = await run(`
      import { projectKeySet } from '${sources}verify.ts'
      const keys = projectKeySet('${slow.url}${new URL(issuer).pathname}', { maxStale: 3_000 })
      await keys.ready()
      for (let round = 0; round < 5; round += 1) {
        console.log(await (await fetch('${slow.url}/slow')).text())
      }
    `)
    expect(printed).toBe(Array(5).fill('slow').join('\n'))
    await slow.close()
  })
})

/** Responds at /slow once a long poll has begun or ended meanwhile, and forwards everything else. */
function slowServer(): Promise<HttpServer> {
  let polls = 0
  return startHttpServer(async ({ url, headers }, outgoing) => {
    if (url === '/slow') {
      const before = polls
      await waitUntil(() => polls > before)
      outgoing.end('slow')
      return
    }
    const passed = {
      'if-none-match': String(headers['if-none-match']),
      prefer: String(headers.prefer),
    }
    polls += 1
    const answer = await fetch(new URL(url ?? '', issuer), { headers: passed })
    polls += 1
    outgoing.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text())
  })
}
