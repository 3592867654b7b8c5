import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { registerAndSign, type SignedToken, setActive } from '../support/app/key-set.ts'
import { startWorkloadApp, type WorkloadApp } from '../support/app/workloads.ts'
import { launchBrowser } from '../support/console/console.ts'
import { createKeyFile } from '../support/log/key-file.ts'
import { startHttpServer } from '../support/network/http-server.ts'
import { startTcpProxy, type TcpProxy } from '../support/network/tcp-proxy.ts'
import { bundle, installed, startWorker } from '../support/runtimes/workerd.ts'
import { freePort, temporaryFolder } from '../support/server/process.ts'

let server: WorkloadApp
let url: string
let issuer: string
let proxy: TcpProxy
beforeAll(async () => {
  server = await startWorkloadApp({ logSigner: createKeyFile().open() })
  url = await server.listen()
  issuer = `${url}/v1/projects/${server.project.id}`
  proxy = await startTcpProxy(Number(new URL(url).port))
  await server.rule()
})

describe('in Cloudflare Workers', () => {
  let worker: Awaited<ReturnType<typeof startWorker>>
  beforeAll(async () => {
    const proxiedIssuer = issuer.replace(/:\d+/, `:${proxy.port}`)
    await sign()
    const logKey = (await server.inject('/log/vkey')).body.trim()
    worker = await startWorker(await bundle('worker.ts', { url, issuer, proxiedIssuer, logKey }))
  })
  afterAll(() => worker.close())

  const ask = async (path: string, token: string, signal?: AbortSignal) => {
    const address = `${worker.url}/${path}?token=${token}`
    return (await fetch(address, signal ? { signal } : {})).json()
  }
  const sign = () => server.send('POST', '/v1/log/checkpoints')
  const alice = { result: { sub: 'alice', status: 'polling' } }

  test('a key set at module level verifies the tokens of all requests', async () => {
    const { token, kid } = await registerAndSign(server)
    const first = Array.from({ length: 5 }, () => ask('verify/direct', token))
    expect(await Promise.all(first)).toEqual(Array(5).fill(alice))
    expect(await ask('verify/direct', token)).toEqual(alice)
    // Longer than the key set is trusted without contact.
    await delay(3_200)
    expect(await ask('verify/direct', token)).toEqual(alice)
    expect(await ask('verify/proven', token)).toMatchObject({ code: 'key_set_unproven' })
    await sign()
    await delay(600)
    expect(await ask('verify/proven', token)).toEqual(alice)
    await setActive(server, kid, false)
    await delay(600)
    for (const name of ['direct', 'proven']) {
      expect(await ask(`verify/${name}`, token)).toMatchObject({ code: 'kid_unknown' })
    }
  })

  test('a request that ends while it loads the key set keeps no other from loading it', async () => {
    const { token } = await registerAndSign(server)
    proxy.block()
    const aborted = ask('verify/proxied', token, AbortSignal.timeout(500))
    await expect(aborted).rejects.toThrow()
    proxy.restore()
    // Connections that broke meanwhile may fail first.
    const attempt = () => ask('verify/proxied', token, AbortSignal.timeout(2_000))
    await expect.poll(attempt).toEqual(alice)
  })

  test('a client at module level exchanges a token once for many requests', async () => {
    const idToken = server.issuer.token()
    expect(await ask('keys', idToken)).toMatchObject({ result: { exchanges: 1 } })
    expect(await ask('keys', idToken)).toMatchObject({ result: { exchanges: 1 } })
  })
})

describe.each([
  ['Deno', installed('deno'), ['run', '--no-prompt', '--allow-net', '--allow-env', '--allow-read']],
  ['Bun', installed('bun'), ['run']],
])('in %s', (_, program, args) => {
  test('tokens are verified until their key is deactivated, and the client works', async () => {
    const signed = await registerAndSign(server)
    const { folder, remove } = temporaryFolder()
    const bare = `http://127.0.0.1:${await freePort()}`
    const input = { url, issuer, apiKey: server.admin, token: signed.token, bare }
    const script = join(import.meta.dirname, '../support/runtimes/script.ts')
    const child = spawn(program, [...args, script], {
      env: { PATH: process.env.PATH, DENO_DIR: folder, TEST_INPUT: JSON.stringify(input) },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
    const next = async () => {
      const { value } = await lines.next()
      child.stdin.write('\n')
      return JSON.parse(String(value))
    }
    const { value } = await lines.next()
    expect(JSON.parse(String(value))).toEqual({ sub: 'alice', status: 'live' })
    await setActive(server, signed.kid, false)
    child.stdin.write('\n')
    expect(await next()).toEqual({ code: 'kid_unknown' })
    expect(await next()).toEqual({ algorithm: 'ES256', revision: 1 })
    expect(await next()).toEqual(['key_not_found', 'unreachable'])
    expect(await lines.next()).toMatchObject({ done: true })
    remove()
  })
})

test('in a browser, on a page of another origin, tokens are verified until their key is deactivated', async () => {
  const signed: SignedToken = await registerAndSign(server)
  const code = await bundle('page.ts', { issuer, token: signed.token })
  const browser = await launchBrowser()
  const page = await browser.newPage()
  // Another port of this machine: browsers keep other pages from its addresses.
  const site = await startHttpServer((_, outgoing) => {
    outgoing.writeHead(200, { 'content-type': 'text/html' }).end('<title>Orders</title>')
  })
  await page.goto(site.url)
  await page.addScriptTag({ type: 'module', content: code })
  const outcome = () => page.evaluate('globalThis.outcome?.()')
  await expect.poll(outcome).toBe('alice live')
  await setActive(server, signed.kid, false)
  await expect.poll(outcome).toBe('kid_unknown')
  await browser.close()
  await site.close()
})
