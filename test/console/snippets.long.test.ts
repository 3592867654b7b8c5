import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import process from 'node:process'
import { afterEach, expect, test } from 'vitest'
import { createClient } from '../../packages/client/src/index.ts'
import {
  audience,
  expected,
  makeTokens,
  run,
  snippetFolder,
  snippets,
} from '../support/console/snippets.ts'
import { freePort, startServer, temporaryFolder } from '../support/server/process.ts'

/** The snippets of the page that need more than Node; connect.test.ts runs the others. */
const { folder: home } = temporaryFolder()
const folder = snippetFolder()
let stop: (() => Promise<unknown>) | undefined

const server = await startServer(home, {})
const made = await makeTokens(server.url, server.apiKey)
installPubring()

afterEach(async () => {
  await stop?.()
  stop = undefined
})

/** Makes `npx pubring` in the folder run this checkout. */
function installPubring(): void {
  const program = resolve('bin/pubring.js')
  const npx = join(folder, 'npx')
  writeFileSync(npx, `#!/bin/sh\nshift\nexec ${process.execPath} ${program} "$@"\n`, {
    mode: 0o755,
  })
}

function textOf(id: string): string {
  const jwksUri = `${made.issuer}/.well-known/jwks.json`
  const snippet = snippets.find((each) => each.id === id)
  return snippet?.text({ issuer: made.issuer, jwksUri, algorithms: ['ES256'], audience }) ?? ''
}

/** Runs a snippet that does not end by itself, with its processes, until the end of the test. */
function start(text: string, env: Record<string, string>): void {
  const child = spawn('sh', ['-ec', text], {
    cwd: folder,
    env: { PATH: `${folder}:/usr/sbin:${process.env.PATH}`, ...env },
    stdio: 'ignore',
    detached: true,
  })
  stop = async () => {
    process.kill(-(child.pid ?? 0), 'SIGTERM')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  }
}

/** Waits until the request has one of these statuses. */
async function respond(url: string, token: string, statuses: number[]): Promise<number> {
  const deadline = Date.now() + 20_000
  for (;;) {
    const status = await fetch(url, { headers: { authorization: `Bearer ${token}` } }).then(
      (response) => response.status,
      () => 0,
    )
    if (statuses.includes(status)) return status
    if (Date.now() > deadline) throw new Error(`${url} responds with ${status}.`)
    await new Promise((done) => setTimeout(done, 100))
  }
}

test('Python, PyJWT: accepts a valid token and rejects others', async () => {
  writeFileSync(join(folder, 'verify.py'), textOf('python'))
  writeFileSync(
    join(folder, 'harness.py'),
    `import json, sys, jwt
from verify import verify

def accepts(token):
    try:
        return bool(verify(token))
    except jwt.PyJWTError:
        return False

print(json.dumps([accepts(token) for token in sys.argv[1:]]))
`,
  )
  execFileSync('python3', ['-m', 'venv', 'venv'], { cwd: folder })
  const pip = join(folder, 'venv/bin/pip')
  const requirements = resolve('examples/verifiers/python-pyjwt/requirements.txt')
  execFileSync(pip, ['install', '-q', '--disable-pip-version-check', '-r', requirements])
  const printed = await run([join(folder, 'venv/bin/python'), 'harness.py', ...made.tokens], folder)
  expect(JSON.parse(printed)).toEqual(expected)
})

test('HAProxy: accepts a valid token, rejects others, and learns that the key is off', async () => {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}/`
  start(textOf('haproxy'), { BIND: `127.0.0.1:${port}` })
  await respond(url, made.tokens[0] ?? '', [200])
  const accepted: boolean[] = []
  for (const token of made.tokens) {
    accepted.push((await respond(url, token, [200, 401])) === 200)
  }
  expect(accepted).toEqual(expected)
  const client = createClient({ url: server.url, apiKey: server.apiKey })
  await client.keys.update('default', made.kid, { active: false })
  expect(await respond(url, made.tokens[0] ?? '', [401])).toBe(401)
  await client.keys.update('default', made.kid, { active: true })
})

test('Any library: the follower serves the key set at the address that it prints', async () => {
  const listen = `127.0.0.1:${await freePort()}`
  const text = textOf('follower')
  start(text, { LISTEN: listen })
  const [, path = ''] = /http:\/\/\$LISTEN(\S+jwks\.json)/.exec(text) ?? []
  const url = `http://${listen}${path}`
  await respond(url, '', [200])
  expect(await (await fetch(url)).json()).toMatchObject({ keys: [{ kid: made.kid }] })
})
