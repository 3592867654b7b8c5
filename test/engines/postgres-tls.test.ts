import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openPostgresStore } from '../../src/storage/postgres/store.ts'
import { chownToPostgres, createPostgres } from '../support/postgres/server.ts'
import { temporaryFolder } from '../support/server/process.ts'

const { folder } = temporaryFolder()

const postgres = await createPostgres('ssl = on')
const root = join(postgres.folder, 'server.crt')
makeCertificate(postgres.folder, 'server', 'DNS:localhost')
makeCertificate(folder, 'other', 'DNS:localhost')
postgres.writeHba('hostssl all keeper 127.0.0.1/32 trust\nhost all postgres 127.0.0.1/32 trust\n')
await postgres.start()
await postgres.query('create role keeper login superuser')

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
  const store = await openPostgresStore(url)
  await store.close()
}

test.each([
  ['require', '127.0.0.1', () => 'sslmode=require'],
  ['prefer', '127.0.0.1', () => 'sslmode=prefer'],
  ['no sslmode', '127.0.0.1', () => ''],
  ['verify-ca and another host name', '127.0.0.1', () => `sslmode=verify-ca&sslrootcert=${root}`],
  ['verify-full', 'localhost', () => `sslmode=verify-full&sslrootcert=${root}`],
])('a server that requires TLS accepts a connection with %s', async (_name, host, parameters) => {
  await open(host, parameters())
})

test.each([
  ['disable', 'localhost', () => 'sslmode=disable'],
  [
    'verify-full and another host name',
    '127.0.0.1',
    () => `sslmode=verify-full&sslrootcert=${root}`,
  ],
  ['verify-full without its root certificate', 'localhost', () => 'sslmode=verify-full'],
  [
    'verify-full and another root certificate',
    'localhost',
    () => `sslmode=verify-full&sslrootcert=${join(folder, 'other.crt')}`,
  ],
  [
    'require and another root certificate',
    'localhost',
    () => `sslmode=require&sslrootcert=${join(folder, 'other.crt')}`,
  ],
])('the connection fails with %s', async (_name, host, parameters) => {
  await expect(open(host, parameters())).rejects.toThrow(/^The PostgreSQL database cannot be used/)
})
