import { execFileSync } from 'node:child_process'
import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadConfig } from '../../src/config/server-settings.ts'
import { openStore } from '../../src/storage/open.ts'
import { recordFault } from '../support/faults/results.ts'
import { chownToPostgres, createPostgres } from '../support/postgres/server.ts'
import { temporaryFolder } from '../support/server/process.ts'

const { folder } = temporaryFolder()

const postgres = await createPostgres('ssl = on')
makeCertificate(postgres.folder)
postgres.writeHba(
  'hostssl all keeper 127.0.0.1/32 scram-sha-256\nhost all postgres 127.0.0.1/32 trust\n',
)
await postgres.start()
await postgres.query("create role keeper login superuser password 'first'")

function makeCertificate(where: string): void {
  const files = ['-keyout', join(where, 'server.key'), '-out', join(where, 'server.crt')]
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
  execFileSync('openssl', ['req', ...kind, ...names, ...files], { stdio: 'pipe' })
  execFileSync('chmod', ['600', join(where, 'server.key')])
  for (const name of ['server.key', 'server.crt']) chownToPostgres(join(where, name))
}

const endSessions = () =>
  postgres.query("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'keeper'")

test('a new password and a new root certificate in their files are used without a restart', async () => {
  const [password, root] = [join(folder, 'password'), join(folder, 'root.crt')]
  const serverCertificate = join(postgres.folder, 'server.crt')
  writeFileSync(password, 'first\n')
  copyFileSync(serverCertificate, root)
  const { databaseUrl } = loadConfig({
    PUBRING_DATABASE_URL: `postgres://keeper@localhost:${postgres.port}/postgres?sslmode=verify-full&sslrootcert=${root}`,
    PUBRING_DATABASE_PASSWORD_FILE: password,
  })
  expect(databaseUrl).not.toContain('first')
  const store = await openStore(databaseUrl)
  await store.ping()

  await postgres.query("alter role keeper password 'second'")
  await store.ping()
  writeFileSync(password, 'second\n')
  await endSessions()
  await store.ping()

  makeCertificate(postgres.folder)
  copyFileSync(serverCertificate, root)
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
    action:
      'the password of the role and then its file; the certificate of the server and then the file of the authority; each time all sessions ended',
    observed:
      'new connections use the new ones without a restart, and the last ones while a file is empty',
    acknowledged: 0,
    lost: 0,
  })
})
