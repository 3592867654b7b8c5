import type { Locator, Page } from 'playwright-core'
import { run } from './snippets.ts'

/** Runs the curl command that the console shows there, and returns the last response, parsed. */
export async function runCommand(scope: Page | Locator, apiKey: string): Promise<unknown> {
  await scope.getByRole('button', { name: 'Show curl command' }).click()
  const command = (await scope.getByLabel('curl command', { exact: true }).textContent()) ?? ''
  const checked = command.replaceAll(/^curl/gm, String.raw`curl -sS --fail-with-body -w '\n'`)
  const printed = await run(['sh', '-ec', checked], '.', { PUBRING_API_KEY: apiKey })
  const last = printed.trim().split('\n').at(-1)
  return last ? JSON.parse(last) : undefined
}
