import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { stopServer } from '../support/server/command.ts'
import { startServer, temporaryFolder } from '../support/server/process.ts'

const root = join(import.meta.dirname, '../..')
const page = readFileSync(join(root, 'README.md'), 'utf8')
const { folder } = temporaryFolder()

/** Masks ids, times and the numbers of keys, which differ from run to run. */
function levelled(text: string): string {
  return text
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'ID')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replaceAll(/\bin \d+ (s|minutes)\b/g, 'in SOME $1')
    .replaceAll(/"([xy])":"[^"]*"/g, '"$1":"…"')
}

test('the session of the README prints what it shows', async () => {
  const session = [...page.matchAll(/^```console\n([\s\S]*?)^```$/gm)].map(([, text]) => text)
  const [, start = '', ...entries] = session.join('').split(/^\$ /m)
  expect(start).toMatch(/^npm ci && npm start\nPubring is ready at/)
  const server = await startServer(folder)
  const tool = `pubring() { node ${join(root, 'bin/pubring.js')} "$@"; }\n`
  for (const entry of entries) {
    const [command = ''] = entry.split('\n', 1)
    const env = {
      HOME: folder,
      PATH: process.env.PATH,
      PUBRING_URL: server.url,
      PUBRING_API_KEY: server.apiKey,
    }
    // Some commands find a fault, as intended. curl prints no line break.
    const typed = command.replace('http://127.0.0.1:8080', server.url)
    const script = `${tool}{ ${typed}\n} 2>&1 || true`
    const { stdout } = await promisify(execFile)('bash', ['-c', script], { cwd: folder, env })
    expect(levelled(`${command}\n${stdout}`.trim())).toBe(levelled(entry.trim()))
  }
  await stopServer(server)
})

test('the revocation times in the README match the last measurement', () => {
  const measured = readFileSync(join(root, 'bench/results/README.md'), 'utf8')
  const row = (verifier: string) =>
    new RegExp(
      `^\\|[^|]*${verifier}[^|]*\\| nothing \\| \\d+ \\| ([^|]+) \\| ([^|]+) \\|`,
      'm',
    ).exec(measured)
  const [, median, maximum] = row('projectKeySet') ?? []
  const [, usual] = row('createRemoteJWKSet') ?? []
  const text = page.replaceAll(/\s+/g, ' ')
  expect(text).toContain(`after ${median} in the median and ${maximum} at most`)
  expect(text).toContain(`good library took ${usual}.`)
})
