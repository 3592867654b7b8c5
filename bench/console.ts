/**
 * CPU time of a browser until the console shows the first rows of 5,000 keys, and its memory then and
 * after a walk through the list.
 *
 *   npm run build:console && npm run bench:console [-- KEYS]
 */
import { generateKeyPairSync } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import process from 'node:process'
import type { BrowserContext, CDPSession, Page } from 'playwright-core'
import type { Client } from '../packages/client/src/index.ts'
import { openConsole } from '../test/support/console/console.ts'

const keys = Number(process.argv[2] ?? 5_000)
const runs = 5
const print = (line: string) => process.stdout.write(`${line}\n`)
const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(0)} MB`

/** One in 100 is active, as after years of rotation; a third are Ed25519, the others P-256. */
async function registerKeys(client: Client, project: string): Promise<void> {
  const size = 500
  for (let from = 0; from < keys; from += size) {
    const batch = Array.from({ length: Math.min(size, keys - from) }, (_, offset) => {
      const index = from + offset
      const { publicKey } =
        index % 3 === 0
          ? generateKeyPairSync('ed25519')
          : generateKeyPairSync('ec', { namedCurve: 'P-256' })
      return {
        name: `service ${index % 97}, key ${index}`,
        algorithm: index % 3 === 0 ? ('EdDSA' as const) : ('ES256' as const),
        publicKeyPem: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
        active: index % 100 === 0,
      }
    })
    await client.keys.import(project, { keys: batch })
  }
}

/** Bytes that only the processes of this browser's pages use, the engine itself included. */
async function rendererBytes(browser: CDPSession): Promise<number> {
  const { processInfo } = await browser.send('SystemInfo.getProcessInfo')
  const sizes = processInfo
    .filter(({ type }) => type === 'renderer')
    .flatMap(({ id }) => globSync(`/proc/${id}/smaps_rollup`))
    .map((file) => {
      const lines = readFileSync(file, 'utf8').matchAll(/^Private_\w+:\s+(\d+) kB$/gm)
      return [...lines].reduce((sum, [, size]) => sum + Number(size) * 1_024, 0)
    })
  return Math.max(...sizes)
}

async function heapBytes(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page)
  await session.send('HeapProfiler.collectGarbage')
  const { usedSize } = await session.send('Runtime.getHeapUsage')
  await session.detach()
  return usedSize
}

/** In a new tab, with a process of its own. */
async function openList(context: BrowserContext, url: string): Promise<Page> {
  const page = await context.newPage()
  const session = await context.newCDPSession(page)
  await session.send('Performance.enable', { timeDomain: 'threadTicks' })
  const start = performance.now()
  await page.goto(url)
  await page.locator('tr[data-id]').first().waitFor()
  const seconds = (performance.now() - start) / 1_000
  const { metrics } = await session.send('Performance.getMetrics')
  const metric = (name: string) => metrics.find((each) => each.name === name)?.value ?? Number.NaN
  print(
    `first rows after ${seconds.toFixed(2)} s; CPU time of the main thread ${metric('TaskDuration').toFixed(2)} s, of the process ${metric('ProcessTime').toFixed(2)} s`,
  )
  return page
}

async function measure(context: BrowserContext, url: string): Promise<void> {
  for (let run = 1; run < runs; run += 1) await (await openList(context, url)).close()
  const page = await openList(context, url)
  const session = await context.browser()?.newBrowserCDPSession()
  if (session === undefined) throw new Error('The browser has ended.')
  const report = async (name: string) => {
    const heap = megabytes(await heapBytes(page))
    print(
      `${name}: heap ${heap}, private memory of the page ${megabytes(await rendererBytes(session))}`,
    )
  }
  await report('at the beginning')
  await page.getByRole('checkbox', { name: 'Select all' }).click()
  await page.locator('tr[data-id] a').first().focus()
  for (const key of ['End', 'Home']) {
    await page.keyboard.press(key)
    await page.locator(`tr[aria-rowindex="${key === 'End' ? keys + 1 : 2}"]`).waitFor()
  }
  for (let step = 0; step < 60; step += 1) await page.mouse.wheel(0, 2_000)
  await report('after a walk through the list, with all keys selected')
  const rows = await page.locator('tr[data-id]').count()
  print(`${rows} of ${keys} rows rendered`)
}

const console_ = await openConsole({
  PUBRING_MAX_KEYS_PER_PROJECT: '10000',
  PUBRING_MAX_JWKS_BYTES: '1000000',
})
const { id } = await console_.client.projects.get('default')
await registerKeys(console_.client, id)
const page = await console_.open('/')
await measure(page.context(), `${console_.server.url}/console/#/projects/${id}/keys`)
await console_.close()
