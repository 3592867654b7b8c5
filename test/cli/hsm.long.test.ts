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

/** Makes a key pair, registers its public key, and returns a token that the HSM signed with it. */
async function signedToken(alg: string, label: string, type: string, mechanism: string) {
  tool(
    `--keypairgen --key-type ${type} --label ${label} --id ${Buffer.from(label).toString('hex')}`,
  )
  const der = join(shell.folder, `${label}.der`)
  tool(`--read-object --type pubkey --label ${label} -o ${der}`)
  const added = await shell.pubring(['key', 'add', der, '--label', label])
  expect(added.code, added.stderr).toBe(0)
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const input = `${part({ alg, kid: added.stdout.trim() })}.${part({ sub: 'hsm' })}`
  // SoftHSM hashes for RSA alone.
  const hashed = alg === 'ES256' ? createHash('sha256').update(input).digest() : input
  const [file, signature] = [shell.file(`${label}.in`, hashed), join(shell.folder, `${label}.out`)]
  tool(`--sign ${mechanism} --label ${label} -i ${file} -o ${signature}`)
  return `${input}.${readFileSync(signature).toString('base64url')}`
}

test.each([
  ['ES256', 'EC:prime256v1', '--mechanism ECDSA --signature-format rs'],
  ['RS256', 'rsa:2048', '--mechanism SHA256-RSA-PKCS'],
])('%s', async (alg, type, mechanism) => {
  // SoftHSM 2.6.1 once failed in C_SignFinal (CKR_GENERAL_ERROR) with a pair that it had just made. Its cause
  // is not known: hundreds of pairs did not show it again. A second pair decides.
  const token = await signedToken(alg, alg, type, mechanism).catch((error) => {
    if (!String(error.stderr).includes('CKR_GENERAL_ERROR')) throw error
    return signedToken(alg, `${alg}-again`, type, mechanism)
  })
  const keys = await shell.test.send('GET', `/v1/projects/${id}/.well-known/jwks.json`)
  expect((await jwtVerify(token, createLocalJWKSet(keys.json()))).payload.sub).toBe('hsm')
})
