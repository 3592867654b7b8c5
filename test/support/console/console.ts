import { AxeBuilder } from '@axe-core/playwright'
import chromium from '@sparticuz/chromium'
import {
  type Browser,
  type BrowserContextOptions,
  type Page,
  chromium as playwright,
} from 'playwright-core'
import { type Client, createClient } from '../../../client/src/index.ts'
import { type ServerProcess, startServer, temporaryFolder } from '../server/process.ts'

/** A server process that serves the console, and a browser. */
export interface TestConsole {
  server: ServerProcess
  /** The secret of the first admin API key. */
  apiKey: string
  /** Uses the first admin API key. */
  client: Client
  browser: Browser
  /** Opens a route such as `/api-keys`, signed in. Closes the page opened before. */
  open(route: string, options?: OpenOptions): Promise<Page>
  /** All hosts that pages have sent requests to. */
  requestedHosts(): string[]
  /** Throws if a page reported an error. */
  close(): Promise<void>
}

export interface OpenOptions extends BrowserContextOptions {
  /** Instead of the first admin API key. */
  apiKey?: string
}

export const phone: BrowserContextOptions = {
  viewport: { width: 390, height: 844 },
  isMobile: true,
  hasTouch: true,
}

const unwantedFlags = new Set([
  // These weaken the isolation of pages.
  '--single-process',
  '--no-zygote',
  '--disable-web-security',
  '--allow-running-insecure-content',
  // An emulated GPU takes almost half of the CPU time of a page.
  '--ignore-gpu-blocklist',
  '--in-process-gpu',
  '--use-gl=angle',
  '--use-angle=swiftshader',
  '--enable-unsafe-swiftshader',
])

/** Chromium as used by the tests and the screenshots. */
export async function launchBrowser(): Promise<Browser> {
  const flags = chromium.args.filter((flag) => !unwantedFlags.has(flag))
  return playwright.launch({
    executablePath: await chromium.executablePath(),
    args: [...flags, '--disable-gpu'],
    headless: true,
  })
}

export async function openConsole(env: Record<string, string> = {}): Promise<TestConsole> {
  const { folder, remove } = temporaryFolder()
  const [server, browser] = await Promise.all([startServer(folder, env), launchBrowser()])
  const errors: string[] = []
  const hosts = new Set<string>()
  let last: Page | undefined
  return {
    server,
    apiKey: server.apiKey,
    client: createClient({ url: server.url, apiKey: server.apiKey }),
    browser,
    open: async (route, { apiKey = server.apiKey, ...options } = {}) => {
      await last?.context().close()
      const page = await newPage(browser, options)
      last = page
      page.on('pageerror', (error) => errors.push(error.message))
      page.on('console', (message) => {
        // A rejected request is not an error of the page.
        const rejected = message.text().startsWith('Failed to load resource')
        if (message.type() === 'error' && !rejected) errors.push(message.text())
      })
      page.on('request', (request) => hosts.add(new URL(request.url()).host))
      await signIn(page, server.url, apiKey, route)
      return page
    },
    requestedHosts: () => [...hosts],
    async close() {
      await browser.close()
      server.signal('SIGTERM')
      await server.ended
      remove()
      if (errors.length > 0) throw new Error(errors.join('\n'))
    },
  }
}

async function newPage(browser: Browser, options: BrowserContextOptions): Promise<Page> {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    reducedMotion: 'reduce',
    ...options,
  })
  context.setDefaultTimeout(30_000)
  return context.newPage()
}

/** Signs in through the form. */
export async function signIn(
  page: Page,
  serverUrl: string,
  apiKey: string,
  route = '/',
): Promise<void> {
  await page.goto(`${serverUrl}/console/#${route}`)
  await page.getByLabel('API key', { exact: true }).fill(apiKey)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('navigation', { name: 'Main' }).waitFor({ state: 'attached' })
}

/** Violations of WCAG 2.2 A and AA that axe finds in the page's current state. */
export async function accessibilityViolations(page: Page): Promise<string[]> {
  const { violations } = await new AxeBuilder({ page })
    .withTags(['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'])
    .analyze()
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary = '' }) => `${id}: ${target.join(' ')}: ${failureSummary}`),
  )
}
