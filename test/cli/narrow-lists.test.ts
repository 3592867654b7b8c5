import truncatedWidth from 'fast-string-truncated-width'
import { expect, test } from 'vitest'
import { ecKey } from '../support/keys/pem.ts'
import { startShell } from './support.ts'

/*
 * What a terminal of 80 columns shows of each list: every column that has a value, each line within the
 * terminal, and every word whole.
 */

// Without caching, every verifier knows a state after a second.
const shell = await startShell({ config: { jwksMaxAge: 0 } })
const pubring = async (args: string[], columns?: number) => {
  const ran = await shell.pubring(args, { env: { NO_COLOR: '1' }, ...(columns && { columns }) })
  expect([0, 3], ran.stderr).toContain(ran.code)
  return ran
}
const keyFile = (name: string) => shell.file(name, ecKey().publicKeyPem)

const add = ['key', 'add', keyFile('old.pem'), '--label', 'orders service, spring 2026']
await pubring([...add, '--expires', '30d'])
const rotate = ['key', 'rotate', keyFile('new.pem'), '--label', 'orders service, autumn 2026']
await pubring([...rotate, '--token-lifetime', '1h', '--switched'])
await pubring(['project', 'create', 'empty'])
await pubring(['key', 'add', keyFile('lone.pem'), '--label', 'lone', '--inactive', '-p', 'empty'])
const apiKey = ['--name', 'deployment of the orders service', '--role', 'registrar']
await pubring(['api-key', 'create', ...apiKey, '--expires', '90d'])
const rule = ['--issuer', 'https://gitlab.example.com', '--condition', 'project_id=42']
await pubring(['access-rule', 'create', '--name', 'orders pipeline', ...rule])
const privateKey = shell.file('keys.json', '{"keys": [{"kty": "oct", "k": "c2VjcmV0"}]}')

const lists: [string[], RegExp][] = [
  [['key', 'list'], /^KID +LABEL +ALGORITHM +STATE +CREATED +EXPIRES\n/],
  [['key', 'rotation', 'list'], /^ID +OLD +NEW +STATE +CONVERGES +OLD KEY EXPIRES +STARTED BY\n/],
  [['project', 'list'], /^NAME +ID +REVISION +CREATED\n/],
  [['api-key', 'list'], /^ID +NAME +ROLE +PROJECT +STATE +USED +EXPIRES\n/],
  [['access-rule', 'list'], /^ID +NAME +FOR +ROLE +PROJECT +STATE +USED\n/],
  [['events'], /^REVISION +TIME +TYPE +BY +SUBJECT\n/],
  [['events', '--all'], /^PROJECT +REVISION +TIME +TYPE +BY +SUBJECT\n/],
  [['warnings'], /^SEVERITY +CODE +PROJECT\n/],
  [['search', 'orders'], /^TYPE +ID +NAME +PROJECT +STATE +MATCHED\n/],
  [['import', privateKey, '--dry-run'], /^# +OUTCOME +LABEL +PLACE\n/],
]

/** The words of the cells, of which a table may cut long names, and shows the ends of ids. */
const wordsOf = (text: string) => text.match(/[A-Za-z]{3,}/g) ?? []

test.each(lists)('%j', async (list, heading) => {
  const { stdout } = await pubring(list, 80)
  expect(stdout).toMatch(heading)
  for (const line of stdout.split('\n')) {
    expect(truncatedWidth(line).width, stdout).toBeLessThanOrEqual(80)
  }
  const words = new Set(wordsOf((await pubring(list)).stdout))
  const shown = stdout.slice(stdout.indexOf('\n')).replaceAll(/\S*…\S*|[0-9a-f]{6,}/g, '')
  for (const word of wordsOf(
    shown.replaceAll(/\bin \d+ \w+|\d+ \w+ ago|\bnow\b|\bnever\b|\ball\b/g, ''),
  )) {
    expect([...words], stdout).toContain(word)
  }
})
