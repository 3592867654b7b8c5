import { execFileSync } from 'node:child_process'
import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadConfig } from '../../packages/server/src/config/server-settings.ts'
import { openStore } from '../../packages/server/src/registry.ts'
import { recordFault } from '../support/faults/results.ts'
import { chownToPostgres, createPostgres } from '../support/postgres/server.ts'
import { temporaryFolder } from '../support/server/process.ts'

const { folder } = temporaryFolder()

const postgres = await createPostgres('ssl = on')
const root = join(postgres.folder, 'server.crt')
makeCertificate(postgres.folder, 'server', 'DNS:localhost')
makeCertificate(folder, 'other', 'DNS:localhost')
postgres.writeHba(
  [
    'hostssl all keeper 127.0.0.1/32 trust',
    'hostssl all renewed 127.0.0.1/32 scram-sha-256',
    'host all postgres 127.0.0.1/32 trust\n',
  ].join('\n'),
)
await postgres.start()
await postgres.query('create role keeper login superuser')
await postgres.query("create role renewed login superuser password 'first'")

/** A self-signed certificate and its key, which the server accepts only with mode 600. */
function makeCertificate(where: string, name: string, subjectAltName: string): void {
  const [key, certificate] = [join(where, `${name}.key`), join(where, `${name}.crt`)]
  const subject = ['-subj', '/CN=localhost', '-addext', `subjectAltName=${subjectAltName}`]
  const files = ['-keyout', key, '-out', certificate]
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
  execFileSync('openssl', ['req', ...kind, '-days', '2', ...subject, ...files], { stdio: 'pipe' })
  execFileSync('chmod', ['600', key])
  for (const file of [key, certificate]) chownToPostgres(file)
}

const open = async (host: string, parameters: string) => {
  const url = `postgres://keeper@${host}:${postgres.port}/postgres?${parameters}`
  const store = await openStore(url)
  await store.close()
}

test.each([
  ['no sslmode', '127.0.0.1', ''],
  ['verify-ca and another host name', '127.0.0.1', `sslmode=verify-ca&sslrootcert=${root}`],
  ['verify-full', 'localhost', `sslmode=verify-full&sslrootcert=${root}`],
])('a server that requires TLS accepts a connection with %s', async (_name, host, parameters) => {
  await open(host, parameters)
})

const other = join(folder, 'other.crt')

test.each([
  ['disable', 'localhost', 'sslmode=disable'],
  ['verify-full and another host name', '127.0.0.1', `sslmode=verify-full&sslrootcert=${root}`],
  ['verify-full without its root certificate', 'localhost', 'sslmode=verify-full'],
  ['require and another root certificate', 'localhost', `sslmode=require&sslrootcert=${other}`],
])('the connection fails with %s', async (_name, host, parameters) => {
  await expect(open(host, parameters)).rejects.toThrow(/^The PostgreSQL database cannot be used/)
})

test('channel binding is proven where the server offers it, and required of the others', async () => {
  const open = async (search: string, sslmode = 'require') => {
    const address = `renewed:first@127.0.0.1:${postgres.port}/postgres`
    await (await openStore(`postgres://${address}?sslmode=${sslmode}&${search}`)).close()
  }
  await open('channel_binding=require')
  await open('channel_binding=prefer')
  // This user needs no password, so the server proves nothing.
  const trusted = `postgres://keeper@127.0.0.1:${postgres.port}/postgres?sslmode=require&channel_binding=require`
  await expect(openStore(trusted)).rejects.toThrow('channel_binding=require')
})

const endSessions = () =>
  postgres.query("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'renewed'")

test('a new password and a new root certificate in their files are used without a restart', async () => {
  const [password, trusted] = [join(folder, 'password'), join(folder, 'root.crt')]
  writeFileSync(password, 'first\n')
  copyFileSync(root, trusted)
  const { databaseUrl } = loadConfig({
    PUBRING_DATABASE_URL: `postgres://renewed@localhost:${postgres.port}/postgres?sslmode=verify-full&sslrootcert=${trusted}`,
    PUBRING_DATABASE_PASSWORD_FILE: password,
  })
  expect(databaseUrl).not.toContain('first')
  const store = await openStore(databaseUrl)
  await store.ping()

  await postgres.query("alter role renewed password 'second'")
  await store.ping()
  writeFileSync(password, 'second\n')
  await endSessions()
  await store.ping()

  makeCertificate(postgres.folder, 'server', 'DNS:localhost')
  copyFileSync(root, trusted)
  await postgres.query('select pg_reload_conf()')
  await endSessions()
  await store.ping()

  // While the file is being written, the last password stays in use.
  writeFileSync(password, '')
  await endSessions()
  await store.ping()
  await store.close()
  recordFault({
    fault: 'Password and certificates changed while the server runs (PostgreSQL)',
    observed:
      'new connections use the new ones without a restart, and the last ones while a file is empty',
    acknowledged: 0,
    lost: 0,
  })
})
