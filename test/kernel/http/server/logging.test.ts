import { execFileSync, spawnSync } from 'node:child_process'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { PubringError } from '../../../../packages/server/src/errors.ts'
import { newApiKeySecret } from '../../../../packages/server/src/kernel/access/secrets.ts'
import type { HttpOptions } from '../../../../packages/server/src/kernel/http/options.ts'
import { startApp } from '../../../support/app/app.ts'
import { ecKey, privatePem } from '../../../support/keys/pem.ts'

const keys = '/v1/projects/payments/jwt-keys'
const body = { name: 'n', algorithm: 'ES256', publicKeyPem: ecKey().publicKeyPem }

async function logOf(level: HttpOptions['logLevel'], examine?: () => Promise<never>) {
  const lines: string[] = []
  const logStream = { write: (line: string) => void lines.push(line) }
  const server = await startApp({
    http: { logLevel: level, logStream },
    ...(examine === undefined ? {} : { examine }),
  })
  return { server, lines, entries: () => lines.map((line) => JSON.parse(line)) }
}

test('a request is one line: operation, outcome, duration, API key; no raw address', async () => {
  const { server, entries } = await logOf('info')
  const answer = await server.send('GET', `${keys}?active=banana`)
  const [entry, ...rest] = entries()
  expect(rest).toEqual([])
  expect(entry).toMatchObject({
    level: 30,
    requestId: answer.headers['x-request-id'],
    method: 'GET',
    route: '/v1/projects/:projectIdOrName/jwt-keys',
    status: 400,
    code: 'invalid_request',
    ms: expect.any(Number),
    apiKeyId: expect.any(String),
  })
  expect(JSON.stringify(entry)).not.toContain('banana')
})

test('faults of a caller are never logged as errors', async () => {
  const { server, entries } = await logOf('info')
  await server.send('GET', '/%E0%A4%A')
  await server.send('GET', '/v1/nope')
  await server.send('PUT', keys, { body: '{' })
  await server.send('POST', keys, { body: '{' })
  await server.send('POST', keys, { body: {}, headers: { 'x-api-key': '' } })
  await server.send('POST', keys, { body: 'x'.repeat(70_000) })
  expect(entries().every(({ level }) => level === 30)).toBe(true)
  expect(entries().length).toBe(6)
})

test('a fault of ours is logged with its stack and cause, beside the line of its request', async () => {
  const fault = new Error('the worker is gone', { cause: new Error('exit 1') })
  const { server, lines, entries } = await logOf('info', () => Promise.reject(fault))
  const answer = await server.send('POST', keys, { body })
  const found = entries().find(({ level }) => level === 50)
  expect(found).toMatchObject({
    requestId: answer.json().requestId,
    code: 'internal',
    err: { message: 'the worker is gone', cause: { message: 'exit 1' } },
  })
  expect(found.err.stack).toContain('logging.test.ts')
  for (const [level, count] of Object.entries({ info: 2, error: 1, fatal: 0, silent: 0 })) {
    lines.length = 0
    server.app.log.level = level
    await server.send('POST', keys, { body })
    expect([level, lines.length]).toEqual([level, count])
  }
})

test('what is logged by mistake is taken out by a second net, at every level', async () => {
  const { server, lines } = await logOf('trace')
  const { admin } = server
  const pem = privatePem(ecKey())
  const fault = new Error(`it said ${admin}`, { cause: new Error(`because of ${pem}`) })
  for (const level of ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const) {
    server.app.log[level](`text ${admin}`)
    server.app.log[level]({ headers: { 'x-api-key': admin }, [admin]: { pem } }, 'object')
    server.app.log[level]({ err: fault }, 'error')
    server.app.log[level](fault)
    server.app.log.child({ url: `/v1?key=${admin}` })[level]('child')
  }
  expect(lines).toHaveLength(30)
  expect(lines.join('')).not.toContain(admin.slice(12, 36))
  expect(lines.join('')).not.toContain(pem.split('\n')[1])
  expect(lines.join('')).toContain('logging.test.ts')
})

describe('an expected fault of ours', () => {
  afterEach(() => void vi.useRealTimers())

  const fault = () =>
    new PubringError('overloaded', 'Too many keys.', {}, new Error('intake pool: full'))
  const warnings = (lines: string[]) =>
    lines.map((line) => JSON.parse(line)).filter(({ level }) => level > 30)

  test('is one short line without a stack; repeats are counted, one line per minute', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const { server, lines } = await logOf('info', () => Promise.reject(fault()))
    const { requestId } = (await server.send('POST', keys, { body })).json()
    for (let count = 0; count < 3; count += 1) await server.send('POST', keys, { body })
    const [first, ...more] = warnings(lines)
    expect(more).toEqual([])
    expect(first).toMatchObject({ level: 40, code: 'overloaded', requestId, msg: 'Too many keys.' })
    expect(first.cause).toBe('intake pool: full')
    for (const line of lines) expect(line.length).toBeLessThan(350)
    expect(lines.join('')).not.toContain('stack')

    lines.length = 0
    vi.advanceTimersByTime(60_000)
    expect(warnings(lines)).toMatchObject([{ code: 'overloaded', repeats: 3 }])
    await server.send('POST', keys, { body })
    expect(warnings(lines)).toHaveLength(1)
    vi.advanceTimersByTime(60_000)
    expect(warnings(lines)).toMatchObject([{ repeats: 3 }, { repeats: 1 }])
    vi.advanceTimersByTime(120_000)
    expect(warnings(lines)).toHaveLength(2)
    await server.send('POST', keys, { body })
    expect(warnings(lines)).toHaveLength(3)
  })

  test('is counted apart from other causes, and the counts are logged at the end', async () => {
    let number = 0
    const { server, lines } = await logOf('warn', async () => {
      number += 1
      throw new PubringError('storage_unavailable', 'No disk.', {}, `SQLITE_FULL ${number % 2}`)
    })
    for (let count = 0; count < 5; count += 1) await server.send('POST', keys, { body })
    expect(warnings(lines)).toMatchObject([
      { level: 50, cause: 'SQLITE_FULL 1' },
      { level: 50, cause: 'SQLITE_FULL 0' },
    ])
    await server.close()
    expect(warnings(lines).slice(2)).toMatchObject([
      { level: 50, cause: 'SQLITE_FULL 1', repeats: 2 },
      { level: 50, cause: 'SQLITE_FULL 0', repeats: 1 },
    ])
  })

  test('has a bound on the causes told apart', async () => {
    let number = 0
    const { server, lines } = await logOf('warn', async () => {
      throw new PubringError('overloaded', 'Full.', {}, `cause ${number++}`)
    })
    for (let count = 0; count < 300; count += 1) await server.send('POST', keys, { body })
    expect(lines).toHaveLength(101)
    await server.close()
    expect(warnings(lines).slice(101)).toMatchObject([{ repeats: 199 }])
  })
})

test('on a terminal the lines are readable, and as free of secrets', async () => {
  const program = `
    import { loggingOptions } from ${JSON.stringify(logging)}
    import Fastify from 'fastify'
    const options = loggingOptions({ logLevel: 'info', logPretty: true })
    const app = Fastify(options)
    app.log.info({ status: 200, route: '/v1/projects', key: process.argv[1] }, 'request')
  `
  const secret = newApiKeySecret()
  const args = ['--input-type=module', '--eval', program, secret]
  const printed = execFileSync(process.execPath, args, { cwd: root, encoding: 'utf8' })
  expect(printed).toMatch(/INFO.*request/)
  expect(printed).toMatch(/route.*\/v1\/projects/)
  expect(printed).not.toContain(secret.slice(12, 36))
})

test('lines of processes that share a pipe all arrive whole, even if they exit at once', () => {
  const program = `
    import { createLogStream } from ${JSON.stringify(logging)}
    const stream = createLogStream()
    const text = 'é'.repeat(100)
    let count = 0
    function turn() {
      for (let line = 0; line < 45; line += 1) {
        count += 1
        stream.write(JSON.stringify({ by: process.argv[1], count, text }) + '\\n')
      }
      if (count === 450) process.exit()
      setImmediate(turn)
    }
    turn()
  `
  const both = '"$0" "$@" a & "$0" "$@" b & wait'
  const args = ['-c', both, process.execPath, '--input-type=module', '--eval', program]
  const printed = execFileSync('sh', args, { cwd: root, encoding: 'utf8' })
  const lines = printed
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  for (const name of ['a', 'b']) {
    // A line that is being written at the exit can arrive after those that follow it.
    const counts = lines
      .filter(({ by }) => by === name)
      .map(({ count }) => count)
      .sort((one, other) => one - other)
    expect(counts).toEqual(Array.from({ length: 450 }, (_, index) => index + 1))
  }
})

test('a server goes on if its log cannot be written', () => {
  const program = `
    import { createLogStream } from ${JSON.stringify(logging)}
    const stream = createLogStream()
    stream.write('lost\\n')
    setTimeout(() => process.stderr.write('still here'), 100)
  `
  const run = '"$0" "$@" 2>&1 >/dev/full'
  const args = ['-c', run, process.execPath, '--input-type=module', '--eval', program]
  expect(spawnSync('sh', args, { cwd: root, encoding: 'utf8' }).stdout).toContain('still here')
})

const root = new URL('../../../..', import.meta.url)
const logging = new URL(
  '../../../../packages/server/src/kernel/http/hooks/logging.ts',
  import.meta.url,
)
