import { execFile } from 'node:child_process'
import { createPublicKey } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, expect, test } from 'vitest'
import { commandBlocks, pages, testOf } from '../support/docs.ts'
import { ecKey, edKey, rsaKey } from '../support/keys/pem.ts'
import { startHttpServer } from '../support/network/http-server.ts'
import { stopServer } from '../support/server/command.ts'
import { freePort, startServer, temporaryFolder } from '../support/server/process.ts'

const root = join(import.meta.dirname, '../..')
const { folder } = temporaryFolder()

const metricsPort = await freePort()
const env = { PUBRING_METRICS_PORT: String(metricsPort) }
const server = await startServer(folder, env)
/** Answers as the systems do that docs/moving.md moves from. */
const systems = await startHttpServer(({ url = '' }, response) => {
  response.end(JSON.stringify(url.startsWith('/jwts') ? kongCredentials() : jwksOf(url)))
})

afterAll(async () => {
  await stopServer(server)
})

const jwk = (kid: string, more: object) => {
  return {
    ...createPublicKey(rsaKey().publicKeyPem).export({ format: 'jwk' }),
    kid,
    use: 'sig',
    alg: 'RS256',
    ...more,
  }
}
/** Keycloak's key set also has a key for encryption. */
const jwksOf = (url: string) => ({
  keys: [
    jwk(Buffer.from(url).toString('base64url'), {
      x5t: 'NjVBRjY5MDlCMUIwNzU4RTA2QzZFMDQ4QzQ2MDAyQjVDNjk1RTM2Qg',
    }),
    ...(url.includes('/realms/') ? [jwk('encryption', { use: 'enc', alg: 'RSA-OAEP' })] : []),
  ],
})
const kongCredentials = () => ({
  data: [
    { key: 'orders-issuer', algorithm: 'RS256', rsa_public_key: rsaKey().publicKeyPem },
    { key: 'shared', algorithm: 'HS256', rsa_public_key: null },
  ],
  next: null,
})

const spkiOf = (publicKeyPem: string) => publicKeyPem.replace(/-----[^-]+-----|\s/g, '')
const sshLine = () => {
  const { x = '' } = createPublicKey(edKey().publicKeyPem).export({ format: 'jwk' })
  const blob = Buffer.concat([
    Buffer.from('\0\0\0\x0bssh-ed25519\0\0\0\x20', 'latin1'),
    Buffer.from(x, 'base64url'),
  ])
  return `ssh-ed25519 ${blob.toString('base64')} alice@laptop`
}
const keyVault = {
  kty: 'RSA-HSM',
  use: undefined,
  alg: undefined,
  key_ops: ['sign', 'verify'],
}

/** The files that docs/moving.md imports, and what the tools of key management services print. */
const moved: Record<string, string | Buffer> = {
  'keys.csv': Buffer.from(
    `label;publicKey\r\n"Schlüssel";"${spkiOf(ecKey().publicKeyPem)}"\r\n`,
    'latin1',
  ),
  authorized_keys: `# team\n${sshLine()}\n`,
  vault: JSON.stringify({
    data: {
      keys: {
        1: { public_key: rsaKey().publicKeyPem },
        2: { public_key: ecKey().publicKeyPem },
      },
    },
  }),
  aws: JSON.stringify({
    KeyId: 'arn:aws:kms:eu-west-1:1:key/a',
    PublicKey: spkiOf(rsaKey().publicKeyPem),
  }),
  gcloud: JSON.stringify({ pem: ecKey().publicKeyPem, algorithm: 'EC_SIGN_P256_SHA256' }),
  'pkcs11-tool': Buffer.from(spkiOf(ecKey().publicKeyPem), 'base64'),
  az: JSON.stringify({ key: jwk('https://acme.vault.azure.net/keys/jwt/0', keyVault) }),
}

/** Commands that make what the pages expect to be there. */
const before: Record<string, string> = {
  'docs/cli.md': 'mkdir -p ~/.config/fish/completions',
  'docs/importing.md': `mkdir jwks; cp key.pem jwks/refunds.json; cat key.pem next.pem > keys.pem; cp keys.json keys.yaml
    mkdir -p ~/.config/pubring; umask 077
    printf '{"profiles": {"new-server": {"url": "%s", "apiKey": "%s"}}}' "$PUBRING_URL" "$PUBRING_API_KEY" > ~/.config/pubring/config.json`,
  'docs/ledger.md': `pubring log key > log.vkey; pubring log checkpoint > /dev/null
    cp '${join(root, 'examples/ledger/verify.py')}' .`,
  'docs/moving.md': `${['vault', 'aws', 'gcloud', 'az']
    .map((tool) => `${tool}() { cat ${tool}; }`)
    .join('; ')}; pkcs11-tool() { cp pkcs11-tool orders.der; }`,
  'docs/rotating-keys.md':
    'pubring key add other.pem --label KID > /dev/null; openssl genpkey -algorithm ed25519 -out private.pem',
  'examples/verifiers/README.md':
    'npx() { shift; pubring "$@"; }; openssl genpkey -algorithm ed25519 -out private.pem; openssl pkey -in private.pem -pubout -out public.pem; pubring key add public.pem --label orders',
  'docs/verifiers.md':
    'pubring project create emptied; pubring key add key.pem -p emptied --label a; pubring key deactivate a -p emptied --yes',
}

const run = promisify(execFile)
const scripts = pages.flatMap((page) => {
  const blocks = commandBlocks(page).filter(
    (block) => testOf(block) === 'test/docs/commands.long.test.ts',
  )
  return blocks.length === 0 ? [] : [{ page, script: blocks.map(({ script }) => script).join('') }]
})

test.each(scripts)('the commands of $page run in one shell', async ({ page, script }) => {
  const where = join(folder, page.replaceAll('/', '-'))
  mkdirSync(where)
  for (const name of ['key.pem', 'next.pem', 'other.pem']) {
    writeFileSync(join(where, name), ecKey().publicKeyPem)
  }
  const keys = [{ label: 'refunds', publicKeyPem: ecKey().publicKeyPem }]
  if (page === 'docs/moving.md') {
    for (const [name, content] of Object.entries(moved)) writeFileSync(join(where, name), content)
  }
  writeFileSync(join(where, 'keys.json'), JSON.stringify({ project: 'payments', keys }))
  const address = (url: string) => new URL(url).host
  const here = script
    .replaceAll(/http:\/\/127\.0\.0\.1:8080|https:\/\/keys\.example\.com/g, server.url)
    .replaceAll('pubring_…', server.apiKey)
    .replaceAll('127.0.0.1:9464', `127.0.0.1:${metricsPort}`)
    .replaceAll('127.0.0.1:8001', address(systems.url))
    .replaceAll(/https:\/\/[\w.-]+\.(auth0|okta|amazonaws|example)\.com(?=\/)/g, systems.url)
    .replaceAll('/projects/ID/', '/projects/emptied/')
  const setUp = `pubring project show payments > /dev/null 2>&1 || pubring project create payments
    ${before[page] ?? ''}\n`
  const env = {
    PATH: `${join(root, 'deploy')}:${process.env.PATH}`,
    HOME: where,
    PUBRING_URL: server.url,
    PUBRING_API_KEY: server.apiKey,
    PUBRING_PUBLIC_URL: server.url,
    PUBRING_DATABASE_URL: `sqlite:${join(server.folder, 'data/pubring.db')}`,
  }
  const { stdout } = await run('bash', ['--norc', '-euc', setUp + here], { cwd: where, env })
  expect(stdout).toMatch(expected[page] ?? /^/)
})

/** Output that shows that a page has worked. */
const expected: Record<string, RegExp> = {
  'docs/importing.md': /created[\s\S]*\+ refunds \(ES256\)/,
  'docs/ledger.md': /^whole [\s\S]*^whole .* revision \d+ {2}[0-9a-f]{64}$/m,
  'docs/moving.md': new RegExp(
    [
      'refused\t\tencryption',
      'created\t[0-9a-f-]{36}\torders-issuer',
      '(?:^[0-9a-f-]{36}\n){5}',
      'created\t[0-9a-f-]{36}\tSchlüssel',
      '[0-9a-f-]{36}',
    ].join('[^]*'),
    'm',
  ),
  'docs/rotating-keys.md': /"problem":"private_key_submitted"/,
  'docs/scraping.md': /^pubring_storage_readable 1$/m,
}

test('the timers of docs/timers.md make a backup and an audit', async () => {
  const page = readFileSync(join(root, 'docs/timers.md'), 'utf8')
  const [, cron = ''] = /^```cron\n([\s\S]*?)^```$/m.exec(page) ?? []
  const inCron = [...cron.matchAll(/^[\d* ]+ root (.*)$/gm)].map(([, text = '']) =>
    text.replaceAll('\\%', '%'),
  )
  const units = ['pubring-backup', 'pubring-audit'].flatMap((name) => {
    const unit = readFileSync(join(root, `deploy/${name}.service`), 'utf8')
    return [...unit.matchAll(/^ExecStart=(.*)$/gm)].map(([, text = '']) =>
      text.replaceAll('%%', '%').replace(' *.db ', " '*.db' "),
    )
  })
  for (const [name, commands] of Object.entries({ cron: inCron, units })) {
    expect(commands.length).toBeGreaterThan(1)
    const target = join(folder, `backups-${name}`)
    const script = commands
      .map((text) => `(${text})\n`)
      .join('')
      .replaceAll('/var/backups/pubring', target)
      .replaceAll('/usr/local/bin/pubring', join(root, 'deploy/pubring'))
    const database = `sqlite:${join(server.folder, 'data/pubring.db')}`
    const env = { PATH: process.env.PATH, PUBRING_DATABASE_URL: database }
    await run('bash', ['-euc', script], { env })
    const { stdout } = await run('bash', ['-c', `stat -c '%a %n' ${target}/*.db`])
    expect(stdout).toMatch(/^600 .*\/\d{4}-\d\d-\d\d\.db\n$/)
  }
})
