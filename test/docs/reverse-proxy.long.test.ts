import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { startApp } from '../support/app/app.ts'
import { registerAndSign } from '../support/app/key-set.ts'
import { startInstalled } from '../support/installed-program.ts'
import { signedCertificate } from '../support/network/certificates.ts'
import { freePort, temporaryFolder } from '../support/server/process.ts'

const page = readFileSync(new URL('../../docs/reverse-proxy.md', import.meta.url), 'utf8')
const { folder } = temporaryFolder()

const server = await startApp()
const upstream = new URL(await server.listen()).host
const { ca, cert, key } = signedCertificate(['localhost'])
for (const [name, text] of Object.entries({ ca, cert, key, both: cert + key })) {
  writeFileSync(join(folder, name), text)
}

/** How each program is run with the configuration of the page. */
const programs = [
  {
    program: 'caddy',
    language: 'caddyfile',
    args: ['run', '--adapter', 'caddyfile', '--config'],
    prepare: (text: string, port: number) =>
      `{\nadmin off\nauto_https disable_redirects\n}\n${text.replace('keys.example.com {', `https://localhost:${port} {\ntls ${folder}/cert ${folder}/key`)}`,
  },
  {
    program: 'nginx',
    language: 'nginx',
    args: ['-p', '.', '-c'],
    prepare: (text: string, port: number) =>
      `daemon off;\npid nginx.pid;\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\n${text.replace('listen 443', `listen 127.0.0.1:${port}`)}\n}\n`,
  },
  {
    program: 'haproxy',
    language: 'haproxy',
    args: ['-db', '-f'],
    prepare: (text: string, port: number) => text.replace('bind :443', `bind 127.0.0.1:${port}`),
  },
]

test.concurrent.each(programs)(
  'the configuration of $program passes on key sets, held requests and events',
  async (one) => {
    const [, block = ''] =
      new RegExp(`^\`\`\`${one.language}\\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(page) ?? []
    const port = await freePort()
    const config = one
      .prepare(block, port)
      .replaceAll('127.0.0.1:8080', upstream)
      .replace('/etc/ssl/keys.example.com.both.pem', join(folder, 'both'))
      .replace('/etc/ssl/keys.example.com.pem', join(folder, 'cert'))
      .replace('/etc/ssl/keys.example.com.key', join(folder, 'key'))
    const url = `https://localhost:${port}`
    const curl = async (...args: string[]) => {
      const { stdout } = await promisify(execFile)('curl', [
        '-sS',
        '--cacert',
        join(folder, 'ca'),
        ...args,
      ])
      return stdout
    }
    const isAnswering = async () => (await curl(`${url}/health/live`)).includes('"ok"')
    const args = [...one.args, 'proxy.conf']
    await startInstalled(one.program, args, { 'proxy.conf': config }, isAnswering)
    const jwks = `${url}/v1/projects/${server.project.id}/.well-known/jwks.json`
    const shown = await curl('-D', '-', jwks)
    const [, etag = ''] = /^etag: (.*)\r$/im.exec(shown) ?? []
    const held = await curl('-D', '-', jwks, '-H', `If-None-Match: ${etag}`, '-H', 'Prefer: wait=1')
    expect(held).toMatch(/ 304[\s\S]*preference-applied: wait=1/i)
    const events = curl(
      '-N',
      '-m',
      '2',
      `${url}/v1/projects/payments/events`,
      '-H',
      `X-Api-Key: ${server.admin}`,
      '-H',
      'Accept: text/event-stream',
    ).catch(({ stdout }) => stdout)
    await delay(500)
    const { kid } = await registerAndSign(server)
    expect(await events).toContain(kid)
  },
)
