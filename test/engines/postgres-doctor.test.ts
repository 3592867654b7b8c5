import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { openStore } from '../../packages/server/src/registry.ts'
import { documentOf, failed, openShell, warned } from '../cli/support.ts'
import { makeCertificate } from '../support/network/certificates.ts'
import { chownToPostgres, createPostgres } from '../support/postgres/server.ts'
import { freePort } from '../support/server/process.ts'

const shell = openShell(() => ({}))

const postgres = await createPostgres('ssl = on')
const { cert, key } = makeCertificate('localhost')
for (const [name, content] of Object.entries({ 'server.crt': cert, 'server.key': key })) {
  writeFileSync(join(postgres.folder, name), content, { mode: 0o600 })
  chownToPostgres(join(postgres.folder, name))
}
postgres.writeHba(
  [
    'hostssl all secure 127.0.0.1/32 trust',
    'host all keeper 127.0.0.1/32 scram-sha-256',
    'host all postgres,poor,part,full,lost 127.0.0.1/32 trust\n',
  ].join('\n'),
)
await postgres.start()
await postgres.query("create role keeper login password 'geheim'")
for (const role of ['secure', 'poor', 'part', 'lost', '"Owner"'])
  await postgres.query(`create role ${role} login`)
await postgres.query('create role full login connection limit 0')
await postgres.query('alter role lost set search_path = nowhere')
await postgres.query('create database latin encoding latin1 template template0')
for (const name of ['empty', 'frozen', 'own', 'older'])
  await postgres.query(`create database ${name}`)
await postgres.query('alter database frozen set default_transaction_read_only = on')
for (const name of ['own', 'older']) await (await openStore(postgres.url(name))).close()
await postgres.query('grant select, insert on all tables in schema public to part', 'own')
await postgres.query(
  `update kysely_migration set name = '9999-later';
  insert into migration_release values ('9999-later', '0.1.0');
  alter table event owner to "Owner";
  grant all on all tables in schema public to part; grant create on schema public to part`,
  'older',
)

async function listen(answer: string): Promise<number> {
  const server: Server = createServer((socket) =>
    socket.on('data', () => answer && socket.end(answer)),
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  server.unref()
  return Object(server.address()).port
}
const silent = await listen('')
const web = await listen('HTTP/1.1 400 Bad Request\r\n\r\n')
const unused = await freePort()
const here = `127.0.0.1:${postgres.port}`

type Situation = [situation: string, url: string, expected: ReturnType<typeof failed>]

/** Faults of the address, each with the step that finds it and the sentence that says what to do. */
const situations: Situation[] = [
  [
    'nothing listens',
    `127.0.0.1:${unused}/p`,
    failed(
      'host',
      /takes no connections \(connect ECONNREFUSED .*\): start PostgreSQL there, or correct host and port$/,
    ),
  ],
  [
    'the host has no address',
    'nowhere.invalid/p',
    failed(
      'host',
      /^nowhere\.invalid:5432 (is a name without an address \(.*ENOTFOUND.*\): correct the name, or the DNS|fails \(.*EAI_AGAIN)/,
    ),
  ],
  [
    'the host does not answer',
    `127.0.0.1:${silent}/p?connect_timeout=1`,
    failed('host', /does not answer in time \(.*\): start its machine, or let a firewall pass/),
  ],
  [
    'the port is that of a web server',
    `127.0.0.1:${web}/p`,
    failed('host', /does not speak the protocol of PostgreSQL \(.*\): correct host and port/),
  ],
  [
    'a path is no directory of a socket',
    `postgres@/p?host=/nowhere`,
    failed('host', /takes no connections \(connect ENOENT .*\): start PostgreSQL there/),
  ],
  [
    'the password is wrong',
    `keeper:falsch@${here}/postgres`,
    failed('host', /rejects this user or password \(.*\): correct them/),
  ],
  [
    'the user is missing',
    `full2@${here}/postgres`,
    failed('host', /(does not admit this user from here|has no user of this name)/),
  ],
  [
    'the database is missing',
    `postgres@${here}/nowhere`,
    failed('host', /has no database of this name \(.*\): create it, or correct the name/),
  ],
  [
    'TLS is off and required',
    `secure@${here}/postgres?sslmode=disable`,
    failed('host', /does not admit this user .* with this sslmode \(.*no encryption\)/),
  ],
  [
    'the authority is not trusted',
    `secure@localhost:${postgres.port}/postgres?sslmode=verify-full`,
    failed(
      'host',
      /has a certificate of an authority that is not trusted \(.*\): name the authority in sslrootcert/,
    ),
  ],
  [
    'the certificate is for another name',
    `secure@${here}/postgres?sslmode=verify-full&sslrootcert=${join(postgres.folder, 'server.crt')}`,
    failed(
      'host',
      /has a certificate for another name \(.*\): use a name that is in it, or sslmode=verify-ca/,
    ),
  ],
  [
    'TLS is required and the server has none',
    `postgres@127.0.0.1:${inject('postgresPort')}/postgres?sslmode=require`,
    failed('host', /has no TLS, which sslmode requires \(.*\): enable it, or use sslmode=prefer/),
  ],
  [
    'the user has no free connection',
    `full@${here}/postgres`,
    failed('host', /has no free connection \(.*\): lower pool_size or raise max_connections/),
  ],
  [
    'the encoding cannot hold every name',
    `postgres@${here}/latin`,
    failed('host', /must have the encoding UTF8, not LATIN1/),
  ],
  [
    'the database is read-only',
    `postgres@${here}/frozen`,
    failed('primary', /is read-only: free its disk, or end the maintenance/),
  ],
  [
    'the user may not create tables',
    `poor@${here}/empty`,
    failed('rights', /^its user may not create tables: grant create on schema public to poor$/),
  ],
  [
    'the user may not change rows of the tables',
    `part@${here}/own`,
    failed(
      'rights',
      /^its user may not write to the tables: grant select, insert, update, delete on all tables in schema public to part$/,
    ),
  ],
  [
    'the user does not own the tables that are to be migrated',
    `part@${here}/older`,
    failed('rights', /^its user does not own the tables: grant "Owner" to part$/),
  ],
  [
    'no schema is in the search path',
    `lost@${here}/empty`,
    failed('database', /no schema that this user can use/),
  ],
  [
    'power loss is not survived',
    `postgres@127.0.0.1:${inject('postgresPort')}/postgres`,
    warned(
      'durability',
      /has (fsync, full_page_writes|full_page_writes, fsync) off: changes can be lost with the power, so switch it on/,
    ),
  ],
  [
    'a parameter is unknown',
    `postgres@${here}/postgres?sslmoed=require`,
    failed('database', /unknown parameter/),
  ],
]

test.each(situations)('%s', async (_situation, address, expected) => {
  const ran = await shell.pubring(['doctor', '--json'], {
    env: {
      PUBRING_DATABASE_URL: `postgres://${address}`,
      PUBRING_PORT: String(await freePort()),
    },
  })
  const { steps } = documentOf(ran) as { steps: Record<string, string>[] }
  const found = steps.find(({ step }) => step === expected.step)
  expect(found, JSON.stringify(steps)).toMatchObject(expected)
  expect(ran.code).toBe(expected.outcome === 'failed' ? 1 : 0)
  expect(ran.stdout).not.toContain('promote')
  expect(ran.stdout).not.toMatch(/geheim|falsch/)
})
