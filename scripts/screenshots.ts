import { writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { launchBrowser, phone, signIn } from '../test/support/console/console.ts'
import { startServer, temporaryFolder } from '../test/support/server/process.ts'
import { createDemoData, type DemoData } from './screenshots/demo-data.ts'

/**
 * `npm run screenshots`: takes a picture of each page of the console into docs/images, from a real
 * server with demo data. The console must be built (`npm run build:console`).
 */
const folder = join(import.meta.dirname, '../docs/images')
const publicUrl = 'https://keys.example.com'

type Shot = {
  name: string
  /** The suffixes of its looks; by default the first look alone. */
  looks?: string[]
  route: (data: DemoData) => string
  /** Steps before the picture is taken. */
  prepare?: (page: Page, data: DemoData) => Promise<void>
}

const shots: Shot[] = [
  { name: 'projects', route: () => '/' },
  { name: 'warnings', route: () => '/', prepare: openBell },
  {
    name: 'keys',
    looks: ['', '-dark', '-phone'],
    route: ({ project }) => `/projects/${project}/keys`,
  },
  { name: 'timeline', route: ({ project }) => `/projects/${project}/timeline` },
  { name: 'register', route: ({ project }) => `/projects/${project}/keys`, prepare: fillKeyForm },
  { name: 'connect', route: ({ project }) => `/projects/${project}/connect` },
  { name: 'verify', route: ({ project }) => `/projects/${project}/verify`, prepare: checkToken },
  { name: 'history', route: ({ project }) => `/projects/${project}/history` },
  { name: 'rotate', route: ({ project, current }) => `/projects/${project}/rotate/${current}` },
  { name: 'api-keys', route: () => '/api-keys' },
  { name: 'all-history', looks: ['-phone'], route: () => '/history' },
]

async function openBell(page: Page): Promise<void> {
  await page.getByRole('button', { name: /warnings$/ }).click()
}

async function fillKeyForm(page: Page, { publicKeyPem }: DemoData): Promise<void> {
  await page.getByRole('button', { name: 'Register a key' }).first().click()
  await page.getByRole('textbox', { name: 'Public key' }).fill(publicKeyPem)
  await page.getByLabel('Label').fill('payments service, summer')
  await page.waitForTimeout(1_000)
}

async function checkToken(page: Page, { token }: DemoData): Promise<void> {
  await page.getByLabel('Token', { exact: true }).fill(token)
  await page.getByRole('button', { name: 'Check token' }).click()
  await page.locator('[data-step]').first().waitFor()
}

const looks: { suffix: string; options: BrowserContextOptions }[] = [
  { suffix: '', options: { viewport: { width: 1280, height: 860 }, colorScheme: 'light' } },
  { suffix: '-dark', options: { viewport: { width: 1280, height: 860 }, colorScheme: 'dark' } },
  { suffix: '-phone', options: phone },
]

/** The whole page up to 1,400 px, so that a picture stays readable beside text. */
async function take(page: Page, name: string): Promise<void> {
  const height = await page.evaluate<number>('document.documentElement.scrollHeight')
  const size = page.viewportSize()
  if (size !== null && height > size.height) {
    await page.setViewportSize({ width: size.width, height: Math.min(height, 1_400) })
  }
  await page.mouse.move(0, 0)
  await page.evaluate('scrollTo(0, 0)')
  await page.waitForTimeout(300)
  await page.screenshot({ path: join(folder, `console-${name}.png`) })
}

/** Lets the server of a folder live through the years that the pictures show. */
function shiftedClock(home: string) {
  const file = join(home, 'clock.json')
  const set = async (days: number) => {
    writeFileSync(file, JSON.stringify({ shift: days * 86_400_000 }))
    await delay(100)
  }
  const preload = join(import.meta.dirname, '../test/support/faults/preload.ts')
  writeFileSync(file, JSON.stringify({ shift: -520 * 86_400_000 }))
  return { file, preload, set }
}

async function main(): Promise<void> {
  await mkdir(folder, { recursive: true })
  const { folder: home, remove } = temporaryFolder()
  const env = { PUBRING_PUBLIC_URL: publicUrl }
  const clock = shiftedClock(home)
  const launch = { node: ['--import', clock.preload] }
  const [server, browser] = await Promise.all([
    startServer(home, { ...env, FAULT_FILE: clock.file }, launch),
    launchBrowser(),
  ])
  const data = await createDemoData(server.url, server.apiKey, clock.set)
  for (const { suffix, options } of looks) {
    const context = await browser.newContext({ reducedMotion: 'reduce', ...options })
    // The pictures show the public URL; the service accepts changes of a session only from there.
    await context.route('**/v1/**', async (route) => {
      if (route.request().method() === 'GET') return route.continue()
      const headers = { ...route.request().headers(), origin: publicUrl }
      await route.fulfill({ response: await route.fetch({ headers }) })
    })
    const page = await context.newPage()
    await signIn(page, server.url, server.apiKey)
    for (const { name, looks: own = [''], route, prepare } of shots) {
      if (!own.includes(suffix)) continue
      if (options.viewport) await page.setViewportSize(options.viewport)
      // A new document; the dialog of the last picture would be open again.
      await page.keyboard.press('Escape')
      await page.goto('about:blank')
      await page.goto(`${server.url}/console/#${route(data)}`)
      await page.locator('main h1, main h2').first().waitFor()
      await page.getByRole('status', { name: 'Loading' }).first().waitFor({ state: 'detached' })
      await page.waitForTimeout(700)
      await prepare?.(page, data)
      await take(page, `${name}${suffix}`)
    }
    await context.close()
  }
  await browser.close()
  server.signal('SIGTERM')
  await server.ended
  remove()
}

await main()
process.stdout.write(`${folder}\n`)
