import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import chromium from '@sparticuz/chromium'
import type { Result, RunOptions } from 'axe-core'
import {
  type Browser,
  type BrowserContextOptions,
  type Page,
  chromium as playwright,
} from 'playwright-core'
import { openRegistry } from '../../../packages/cli/src/server/instance.ts'
import { type Client, createClient, type JwtKeyCreate } from '../../../packages/client/src/index.ts'
import { buildApp } from '../../../packages/server/src/app.ts'
import { loadConfig } from '../../../packages/server/src/config/server-settings.ts'
import { prepareRegistry } from '../../../packages/server/src/first-start.ts'
import type { Clock } from '../../../packages/server/src/runtime/clock.ts'
import { endLater } from '../ending.ts'
import { ecKey } from '../keys/pem.ts'
import { expectNoSecret, rememberSecret } from '../secrets.ts'
import { freePort, temporaryFolder } from '../server/process.ts'
import { waitLimitMs } from '../waiting.ts'

/** A server that serves the console, and a browser. */
export interface TestConsole {
  /** Its folder has the database at `data/pubring.db`. */
  server: { url: string; folder: string }
  /** The secret of the first admin API key. */
  apiKey: string
  /** Uses the first admin API key. */
  client: Client
  browser: Browser
  /** Registers a key, of a new key pair for ES256 unless `members` has another; its kid. */
  register(project: string, name: string, members?: Partial<JwtKeyCreate>): Promise<string>
  /** Opens a route such as `/api-keys`, signed in. Closes the page opened before. */
  open(route: string, options?: OpenOptions): Promise<Page>
  /**
   * Shows a route in the open page without what was typed there, in a tenth of the time of `open`.
   * The page does not read again what it has read in the last seconds.
   */
  show(route: string): Promise<Page>
  /** Goes to a route in the open page, as its links do. */
  go(route: string): Promise<Page>
  /** All hosts that pages have sent requests to. */
  requestedHosts(): string[]
  /** Throws if a page reported an error. */
  close(): Promise<void>
}

export interface OpenOptions extends BrowserContextOptions {
  /** Instead of the first admin API key. */
  apiKey?: string
  /** Instead of the server's own address. */
  url?: string
}

export const phone: BrowserContextOptions = {
  viewport: { width: 390, height: 844 },
  isMobile: true,
  hasTouch: true,
}

/** A rejected request is not an error of the page, and a header for https pages none on plain http. */
const harmless = /Failed to (load resource|fetch dynamically)|Cross-Origin-Opener-Policy header/

/** Resolves to this machine, without the privileges that browsers give to loopback addresses. */
export const plainHost = 'keys.test'

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

/** Chromium as used by the tests and the screenshots; it ends with the test or file if `endsLater`. */
export async function launchBrowser(endsLater = true): Promise<Browser> {
  const flags = chromium.args.filter((flag) => !unwantedFlags.has(flag))
  const browser = await playwright.launch({
    executablePath: await chromium.executablePath(),
    args: [...flags, '--disable-gpu', `--host-resolver-rules=MAP ${plainHost} 127.0.0.1`],
    headless: true,
  })
  if (endsLater) endLater(() => browser.close())
  return browser
}

/** The browser of all files of a worker, with which it ends: its start takes as long as two pages. */
let shared: Promise<Browser> | undefined

/** `clock`: that of the server, if it is not that of its database. */
export async function openConsole(
  env: Record<string, string> = {},
  clock?: Clock,
): Promise<TestConsole> {
  const { folder, remove } = temporaryFolder()
  shared ??= launchBrowser(false)
  const [server, browser] = await Promise.all([startServer(folder, env, clock), shared])
  const errors: string[] = []
  const hosts = new Set<string>()
  let last: Page | undefined
  const client = createClient({ url: server.url, apiKey: server.apiKey })
  const testConsole: TestConsole = {
    server,
    apiKey: server.apiKey,
    client,
    browser,
    register: async (project, name, members) => {
      const { publicKeyPem } = ecKey()
      const key = { name, algorithm: 'ES256', publicKeyPem, ...members } as const
      return (await client.keys.create(project, key)).kid
    },
    open: async (route, { apiKey = server.apiKey, url = server.url, ...options } = {}) => {
      await last?.context().close()
      const page = await newPage(browser, options)
      last = page
      page.on('pageerror', (error) => errors.push(error.message))
      page.on('console', (message) => {
        if (message.type() === 'error' && !harmless.test(message.text())) {
          errors.push(message.text())
        }
      })
      page.on('request', (request) => hosts.add(new URL(request.url()).host))
      if (new URL(url).hostname === plainHost) await signIn(page, url, apiKey, route)
      else await openSignedIn(page, url, apiKey, route)
      return page
    },
    show: async (route) => {
      const page = await testConsole.go('/no-such-page')
      await page.getByRole('heading', { name: 'Page not found' }).waitFor()
      await page.evaluate('sessionStorage.clear()')
      return testConsole.go(route)
    },
    go: async (route) => {
      if (last === undefined) return testConsole.open(route)
      await last.goto(`${server.url}/console/#${route}`)
      return last
    },
    requestedHosts: () => [...hosts],
    close: endLater(async () => {
      await Promise.all(browser.contexts().map((context) => context.close()))
      await server.close()
      remove()
      if (errors.length > 0) throw new Error(errors.join('\n'))
    }),
  }
  return testConsole
}

/** A new registry, in this process, which has loaded its modules already. */
async function startServer(folder: string, env: Record<string, string>, clock?: Clock) {
  const config = loadConfig({
    PUBRING_DATABASE_URL: `sqlite:${join(folder, 'data/pubring.db')}`,
    PUBRING_PORT: String(await freePort()),
    PUBRING_LOG_LEVEL: 'trace',
    ...env,
  })
  const registry = await openRegistry(config)
  const log: string[] = []
  const app = await buildApp(
    { ...registry.context, ...(clock && { clock }) },
    {
      ...config,
      // The tests themselves delay the event loop.
      overloadLagMs: 0,
      logPretty: false,
      logStream: { write: (line) => void log.push(line) },
    },
  )
  app.addHook('onClose', () => registry.close())
  const close = endLater(async () => {
    await app.close()
    expectNoSecret({ log: log.join('') })
  })
  await registry.prepared
  const { newSecret = '' } = await prepareRegistry(registry.context, config.adminApiKey)
  await app.listen({ host: config.host, port: config.port })
  const apiKey = rememberSecret('an API key', newSecret)
  return { url: `http://127.0.0.1:${config.port}`, folder, apiKey, close }
}

/** A page of a browser of its own, without a session; it closes after the test. */
export async function openStranger(
  { browser }: Pick<TestConsole, 'browser'>,
  options: BrowserContextOptions = {},
): Promise<Page> {
  const page = await newPage(browser, options)
  endLater(() => page.context().close())
  return page
}

async function newPage(browser: Browser, options: BrowserContextOptions): Promise<Page> {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    reducedMotion: 'reduce',
    ...options,
  })
  context.setDefaultTimeout(waitLimitMs)
  return context.newPage()
}

/** Opens the page with a session that begins without the form, which takes a third of the time. */
async function openSignedIn(
  page: Page,
  serverUrl: string,
  apiKey: string,
  route: string,
): Promise<void> {
  const headers = { 'x-api-key': apiKey }
  const response = await page.request.post(`${serverUrl}/v1/sessions`, { headers })
  if (!response.ok()) throw new Error(`no session: ${response.status()} ${await response.text()}`)
  for (const { value } of await page.context().cookies()) {
    rememberSecret('the secret of a session', value)
  }
  await page.goto(`${serverUrl}/console/#${route}`)
  await page.getByRole('navigation', { name: 'Main' }).waitFor({ state: 'attached' })
}

/** Signs in through the form. */
export async function signIn(
  page: Page,
  serverUrl: string,
  apiKey: string,
  route = '/',
): Promise<void> {
  await page.goto(`${serverUrl}/console/#${route}`)
  const field = page.getByLabel('API key', { exact: true })
  // Where there is an OpenID provider, the field is behind its button.
  const disclosure = page.getByRole('button', { name: 'Use an API key' })
  await field.or(disclosure).waitFor()
  if (await disclosure.isVisible()) await disclosure.click()
  await field.fill(apiKey)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('navigation', { name: 'Main' }).waitFor({ state: 'attached' })
}

/** The scripts that the page has loaded, with the bytes of each as sent. */
export async function loadedScripts(page: Page): Promise<Record<string, number>> {
  const files = await page.evaluate<string[]>(
    `performance.getEntriesByType('resource').map(({ name }) => name).filter((name) => name.endsWith('.js'))`,
  )
  const sizes = files.map(async (file): Promise<[string, number]> => {
    const { headers } = await fetch(file, { headers: { 'accept-encoding': 'br' } })
    if (headers.get('content-encoding') !== 'br') throw new Error(`${file} is not compressed.`)
    return [file, Number(headers.get('content-length'))]
  })
  return Object.fromEntries(await Promise.all(sizes))
}

/**
 * Every text that a script can read in the page: in its storages and cookies, its HTML, its history, and
 * in all objects that can be reached from the global object, its elements and what React ties to them.
 */
export function readableTexts(page: Page): Promise<string> {
  return page.evaluate<string>(`{
    const texts = new Set([document.documentElement.outerHTML, document.cookie, location.href])
    for (const storage of [localStorage, sessionStorage]) texts.add(JSON.stringify({ ...storage }))
    const seen = new Set()
    const open = [globalThis, history.state, ...document.querySelectorAll('*')]
    while (open.length > 0) {
      const value = open.pop()
      if (typeof value === 'string') texts.add(value)
      const isObject = typeof value === 'function' || (typeof value === 'object' && value !== null)
      if (!isObject || seen.has(value)) continue
      seen.add(value)
      if (value instanceof Map) open.push(...value.keys(), ...value.values())
      if (value instanceof Set) open.push(...value)
      if (value instanceof Headers) open.push(...value.entries())
      if (value instanceof HTMLInputElement) open.push(value.value, value.defaultValue)
      for (const name of Reflect.ownKeys(value)) {
        const property = Reflect.getOwnPropertyDescriptor(value, name)
        open.push(property?.value)
      }
    }
    ;[...texts].join('\\n')
  }`)
}

/**
 * Violations of WCAG 2.2 A and AA that axe finds in the page's current state, in light and dark mode.
 * The page changes its mode, which takes as long as all rules. `front` selects what can be seen: axe
 * does not decide on the contrast of what is behind a dialog.
 */
export async function accessibilityViolations(page: Page, front = 'html'): Promise<string[]> {
  const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']
  const rules = { 'color-contrast': { enabled: false } }
  const contrast: RunOptions = { runOnly: ['color-contrast'] }
  const found = await analyze(page, 'html', { runOnly: tags, rules })
  found.push(...(await analyze(page, front, contrast)))
  const isDark = await page.locator('html[data-mantine-color-scheme=dark]').count()
  await setColorScheme(page, isDark ? 'light' : 'dark')
  return [...found, ...(await analyze(page, front, contrast))]
}

async function setColorScheme(page: Page, colorScheme: 'light' | 'dark'): Promise<void> {
  await page.emulateMedia({ colorScheme })
  await page.locator(`html[data-mantine-color-scheme=${colorScheme}]`).waitFor()
  // Some colors change gradually.
  await page.evaluate(`for (const each of document.getAnimations()) {
    if (each.effect.getComputedTiming().endTime !== Infinity) each.finish()
  }`)
}

const require = createRequire(import.meta.url)
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8')

async function analyze(page: Page, scope: string, options: RunOptions): Promise<string[]> {
  if (!(await page.evaluate<boolean>(`'axe' in globalThis`))) await page.evaluate(axe)
  const parameters = [scope, { ...options, resultTypes: ['violations'] }].map((each) =>
    JSON.stringify(each),
  )
  const run = `axe.run(${parameters.join()}).then(({ violations }) => violations)`
  const violations = await page.evaluate<Result[]>(run)
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary = '' }) => `${id}: ${target.join(' ')}: ${failureSummary}`),
  )
}
