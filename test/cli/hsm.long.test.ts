import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { globSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createLocalJWKSet, jwtVerify } from 'jose'
import { expect, test } from 'vitest'
import { startShell } from './support.ts'

/* A key in an HSM (SoftHSM) signs a JWT, which jose verifies with the key set. */

const shell = await startShell()
const { id } = shell.test.project
const [module = ''] = globSync('/usr/lib/{softhsm,*/softhsm}/libsofthsm2.so')
const tokens = join(shell.folder, 'tokens')
mkdirSync(tokens)
const env = {
  ...process.env,
  SOFTHSM2_CONF: shell.file('softhsm2.conf', `directories.tokendir = ${tokens}\n`),
}
const run = (command: string, args: string) => execFileSync(command, args.split(' '), { env })
const tool = (args: string) => run('pkcs11-tool', `--module ${module} --login --pin 1234 ${args}`)
run('softhsm2-util', '--init-token --free --label pubring --so-pin 1234 --pin 1234')

test.each([
  ['ES256', 'EC:prime256v1', '--mechanism ECDSA --signature-format rs'],
  ['RS256', 'rsa:2048', '--mechanism SHA256-RSA-PKCS'],
])('%s', async (alg, type, mechanism) => {
  // pkcs11-tool signs with the first private key of the token unless it gets an id: it ignores the label.
  const keyId = `--id ${Buffer.from(alg).toString('hex')}`
  tool(`--keypairgen --key-type ${type} --label ${alg} ${keyId}`)
  const der = join(shell.folder, `${alg}.der`)
  tool(`--read-object --type pubkey ${keyId} -o ${der}`)
  const added = await shell.pubring(['key', 'add', der, '--label', alg])
  expect(added.code, added.stderr).toBe(0)
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const input = `${part({ alg, kid: added.stdout.trim() })}.${part({ sub: 'hsm' })}`
  // SoftHSM hashes for RSA alone.
  const hashed = alg === 'ES256' ? createHash('sha256').update(input).digest() : input
  const [file, signature] = [shell.file(`${alg}.in`, hashed), join(shell.folder, `${alg}.out`)]
  tool(`--sign ${mechanism} ${keyId} -i ${file} -o ${signature}`)
  const token = `${input}.${readFileSync(signature).toString('base64url')}`
  const keys = await shell.test.send('GET', `/v1/projects/${id}/.well-known/jwks.json`)
  expect((await jwtVerify(token, createLocalJWKSet(keys.json()))).payload.sub).toBe('hsm')
})
