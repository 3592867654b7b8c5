import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '../..')
const material = join(root, 'test/fixtures/material')

function check(...args: string[]) {
  return run('', ...args)
}

function run(input: string, ...args: string[]) {
  const command = [join(root, 'packages/cli/src/main.ts'), 'key', 'check', ...args]
  const { status, stdout, stderr } = spawnSync(process.execPath, command, {
    input,
    encoding: 'utf8',
    env: { PATH: process.env.PATH },
  })
  return { status, stdout, stderr }
}

test('accepts a good key and describes it', () => {
  const { status, stdout } = check(join(material, 'rsa2048.pem'))
  expect(status).toBe(0)
  expect(stdout).toMatch(/^accepted\n.*RSA 2048 bits\n.*RSA RS256.*thumbprint {2}[\w-]{43}\n/s)
})

test('reads a key from standard input and prints JSON', () => {
  const pem = readFileSync(join(material, 't_crlf.pem'), 'utf8')
  const { status, stdout } = run(pem, '-', '--json')
  expect(status).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({
    accepted: true,
    faults: [],
    normalised: ['line_breaks'],
    key: { kty: 'RSA', bits: 2048 },
    publicKeyPem: readFileSync(join(material, 'rsa2048.pem'), 'utf8'),
  })
})

test('rejects a weak key with its code and exit code 1', () => {
  const { status, stdout } = check(join(material, 'rsa1024.pem'))
  expect(status).toBe(1)
  expect(stdout).toMatch(/^rejected\n {2}rsa_modulus_too_small: .*1024.*2048/)
})

test('rejects a private key and prints nothing of it', () => {
  const file = join(material, 'private_pkcs8.pem')
  const { status, stdout, stderr } = check(file)
  expect(status).toBe(1)
  expect(stdout).toContain('it has not left this machine')
  expect(stdout).not.toContain('compromised')
  const [, body = ''] = readFileSync(file, 'utf8').split('\n')
  expect(stdout + stderr).not.toContain(body.slice(0, 24))
})

test.each([
  ['a missing file', ['none.pem'], /no file none\.pem/],
  ['a folder', [material], /is a folder/],
  ['an unknown algorithm', ['-', '--algorithm', 'RS265'], /did you mean RS256\?/],
])('reports %s in one line on stderr, without a stack', (_name, args, message) => {
  const { status, stdout, stderr } = check(...args)
  expect(status).not.toBe(0)
  expect(stdout).toBe('')
  expect(stderr.trim().split('\n')).toHaveLength(1)
  expect(stderr).toMatch(message)
})
