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

/** A real server that serves the console, and a browser before it. */
export interface TestConsole {
  server: ServerProcess
  /** The secret of the first admin API key. */
  apiKey: string
  /** With the first admin API key. */
  client: Client
  browser: Browser
  /** The console at a route such as `/api-keys`, signed in with an API key. Closes the page before. */
  open(route: string, options?: OpenOptions): Promise<Page>
  /** Every host that a page has asked so far. */
  requestedHosts(): string[]
  /** Fails where a page met an error of its own. */
  close(): Promise<void>
}

export interface OpenOptions extends BrowserContextOptions {
  /** In place of the first admin's. */
  apiKey?: string
}

export const phone: BrowserContextOptions = {
  viewport: { width: 390, height: 844 },
  isMobile: true,
  hasTouch: true,
}

/** Flags for a place with one process and nobody to attack: here pages are held as they are outside. */
const unwanted = [
  '--single-process',
  '--no-zygote',
  '--disable-web-security',
  '--allow-running-insecure-content',
]

/** Chromium as the tests and the screenshots use it. */
export async function launchBrowser(): Promise<Browser> {
  return playwright.launch({
    executablePath: await chromium.executablePath(),
    args: chromium.args.filter((flag) => !unwanted.includes(flag)),
    headless: true,
  })
}

export async function openConsole(env: Record<string, string> = {}): Promise<TestConsole> {
  const { folder, remove } = temporaryFolder()
  const [server, browser] = await Promise.all([startServer(folder, env), launchBrowser()])
  const faults: string[] = []
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
      page.on('pageerror', (error) => faults.push(error.message))
      page.on('console', (message) => {
        // A refused request is no fault of the page.
        const refused = message.text().startsWith('Failed to load resource')
        if (message.type() === 'error' && !refused) faults.push(message.text())
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
      if (faults.length > 0) throw new Error(faults.join('\n'))
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

/** Signs in by the form, as a person does. */
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

/** What axe (WCAG 2.2 A and AA) finds wrong in the page as it stands. */
export async function accessibilityViolations(page: Page): Promise<string[]> {
  const { violations } = await new AxeBuilder({ page })
    .withTags(['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'])
    .analyze()
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary = '' }) => `${id}: ${target.join(' ')}: ${failureSummary}`),
  )
}
