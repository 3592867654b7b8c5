import { createPrivateKey } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { openShell, type Ran } from '../../cli/support.ts'
import { startApp } from '../../support/app/app.ts'
import { newProject, type TestProject } from '../../support/app/keys.ts'
import { startTcpProxy } from '../../support/network/tcp-proxy.ts'

export async function startKeepers() {
  const server = await startApp({ config: { jwksMaxAge: 0, refusalDelayMs: 0 } })
  const proxy = await startTcpProxy(Number(new URL(await server.listen()).port))
  const url = `http://127.0.0.1:${proxy.port}`
  const shell = openShell(() => ({ PUBRING_URL: url }))
  let count = 0

  /** A project with the folder of a keeper, which has an API key for its first turn alone. */
  async function keeper(role = 'admin') {
    count += 1
    const project = await newProject(server, `kept-${count}`)
    const dir = join(shell.folder, `signer-${count}`)
    const apiKey = role === 'admin' ? server.admin : await server.apiKey('registrar', project.id)
    const keep = (flags: readonly string[] = ['--every', '1h', '--once'], env = {}, call = {}) =>
      shell.pubring(
        ['key', 'keep', dir, '--token-lifetime', '1m', '--project', project.id, ...flags],
        { env, ...call },
      )
    return { project, dir, keep, first: { PUBRING_API_KEY: apiKey } }
  }
  const keysOf = async ({ keys }: TestProject) => (await server.send('GET', keys)).json()
  return { keeper, keysOf, proxy, server, shell, url }
}

export const currentJwk = (dir: string) =>
  JSON.parse(readFileSync(join(dir, 'current.jwk'), 'utf8'))

export const stateOf = (dir: string) => JSON.parse(readFileSync(join(dir, 'keeper.json'), 'utf8'))

export function expectDone({ code, stderr }: Ran): string {
  expect(code, stderr).toBe(0)
  return stderr
}

/** What the folder must be whenever a turn is over. Returns the kid that signs. */
export function expectWhole(dir: string): string {
  const jwk = currentJwk(dir)
  const { kid } = jwk
  const read = (file: string) => readFileSync(join(dir, 'current', file), 'utf8')
  expect(read('kid')).toBe(kid)
  const [pem, other] = [
    createPrivateKey(read('private.pem')),
    createPrivateKey({ key: jwk, format: 'jwk' }),
  ]
  expect(pem.equals(other)).toBe(true)
  const secrets = [
    join(dir, 'current.jwk'),
    join(dir, 'keeper.json'),
    ...readdirSync(dir).flatMap((name) => filesOf(dir, name)),
  ]
  for (const file of secrets) expect([file, statSync(file).mode & 0o777]).toEqual([file, 0o600])
  expect(statSync(dir).mode & 0o777).toBe(0o700)
  return kid
}

const filesOf = (dir: string, name: string) =>
  /^[0-9a-f-]{36}$/.test(name)
    ? readdirSync(join(dir, name)).map((file) => join(dir, name, file))
    : []
