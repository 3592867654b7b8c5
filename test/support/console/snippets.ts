import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import process from 'node:process'
import { text as textOf } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { createClient } from '../../../packages/client/src/index.ts'
import { endLater } from '../ending.ts'
import { keyFor, signToken } from '../keys/tokens.ts'

// As Vite does, for `import text from './text.txt?raw'`.
registerHooks({
  load(url, context, next) {
    if (!url.endsWith('?raw')) return next(url, context)
    const text = readFileSync(fileURLToPath(url), 'utf8')
    return {
      format: 'module',
      source: `export default ${JSON.stringify(text)}`,
      shortCircuit: true,
    }
  },
})
export const { snippets } = await import('../../../console/src/pages/connect/snippets.ts')

/** An audience that every language and configuration must quote. */
export const audience = `o'r"d\\e$r`

const seconds = (offset: number) => Math.floor(Date.now() / 1_000) + offset

/** Registers an ES256 key, and signs tokens with it: the first is valid, the others are not. */
export async function makeTokens(url: string, apiKey: string) {
  const client = createClient({ url, apiKey })
  const { id: project } = await client.projects.get('default')
  const { issuer } = await client.jwks.discovery(project)
  const { privateKey, publicKeyPem } = keyFor('ES256')
  const { kid } = await client.keys.create(project, {
    name: 'signer',
    algorithm: 'ES256',
    publicKeyPem,
  })
  const claims = { iss: issuer, sub: 'alice', aud: audience, exp: seconds(300) }
  const sign = (changed: object, key = privateKey) =>
    signToken(key, { alg: 'ES256', kid }, { ...claims, ...changed })
  const tokens = [
    sign({}),
    sign({ aud: 'cats' }),
    sign({ iss: 'https://else.example.com' }),
    sign({ exp: seconds(-600) }),
    sign({ exp: undefined }),
    sign({ nbf: seconds(600) }),
    sign({}, keyFor('ES256').privateKey),
  ]
  return { issuer, kid, tokens }
}

/** Whether a verifier should accept each of these tokens. */
export const expected = [true, false, false, false, false, false, false]

/** A folder outside the checkout that has its packages and `npx pubring`. */
export function snippetFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'pubring-snippet-'))
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}')
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'))
  endLater(() => rmSync(folder, { recursive: true }))
  return folder
}

/** Runs a command and returns what it printed; throws with its errors if it fails. */
export async function run(
  command: string[],
  cwd: string,
  env: Record<string, string> = {},
): Promise<string> {
  const [file = '', ...args] = command
  const child = spawn(file, args, { cwd, env: { PATH: process.env.PATH, ...env } })
  const [printed, errors, [code]] = await Promise.all([
    textOf(child.stdout),
    textOf(child.stderr),
    once(child, 'close'),
  ])
  if (code !== 0) throw new Error(`${command.join(' ')} ended with ${code}: ${errors}`)
  return printed
}

/** Which of the tokens the `verify` of verify.js accepts. */
export const nodeHarness = `import { verify } from './verify.js'
const accepted = []
for (const token of process.argv.slice(2)) {
  accepted.push(await verify(token).then(() => true, () => false))
}
console.log(JSON.stringify(accepted))
process.exit()
`
