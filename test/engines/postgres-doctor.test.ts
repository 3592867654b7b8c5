import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { openStore } from '../../packages/server/src/registry.ts'
import { documentOf, openShell } from '../cli/support.ts'
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
for (const name of ['empty', 'frozen', 'later', 'own', 'older'])
  await postgres.query(`create database ${name}`)
await postgres.query('alter database frozen set default_transaction_read_only = on')
for (const name of ['later', 'own', 'older']) await (await openStore(postgres.url(name))).close()
await postgres.query("insert into kysely_migration values ('9999-later', '2030-01-01')", 'later')
await postgres.query('grant select on all tables in schema public to poor', 'own')

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

type Situation = [
  situation: string,
  url: string,
  step: string,
  outcome: 'failed' | 'warned',
  sentence: RegExp,
]

/** Faults of the address, each with the step that finds it and the sentence that says what to do. */
const situations: Situation[] = [
  [
    'nothing listens',
    `127.0.0.1:${unused}/p`,
    'host',
    'failed',
    /takes no connections \(connect ECONNREFUSED .*\): start PostgreSQL there, or correct host and port$/,
  ],
  [
    'the host has no address',
    'nowhere.invalid/p',
    'host',
    'failed',
    /^nowhere\.invalid:5432 (is a name without an address \(.*ENOTFOUND.*\): correct the name, or the DNS|fails \(.*EAI_AGAIN)/,
  ],
  [
    'the host does not answer',
    `127.0.0.1:${silent}/p?connect_timeout=1`,
    'host',
    'failed',
    /does not answer in time \(.*\): start its machine, or let a firewall pass/,
  ],
  [
    'the port is that of a web server',
    `127.0.0.1:${web}/p`,
    'host',
    'failed',
    /does not speak the protocol of PostgreSQL \(.*\): correct host and port/,
  ],
  [
    'a path is no directory of a socket',
    `postgres@/p?host=/nowhere`,
    'host',
    'failed',
    /takes no connections \(connect ENOENT .*\): start PostgreSQL there/,
  ],
  [
    'the password is wrong',
    `keeper:falsch@${here}/postgres`,
    'host',
    'failed',
    /rejects this user or password \(.*\): correct them/,
  ],
  [
    'there is no password',
    `keeper@${here}/postgres`,
    'host',
    'failed',
    /rejects this user or password/,
  ],
  [
    'the user is missing',
    `full2@${here}/postgres`,
    'host',
    'failed',
    /(does not admit this user from here|has no user of this name)/,
  ],
  [
    'the database is missing',
    `postgres@${here}/nowhere`,
    'host',
    'failed',
    /has no database of this name \(.*\): create it, or correct the name/,
  ],
  [
    'pg_hba.conf does not admit the user',
    `outsider@${here}/postgres`,
    'host',
    'failed',
    /does not admit this user .* \(no pg_hba.conf entry .*\): correct the URL, or pg_hba.conf/,
  ],
  [
    'TLS is off and required',
    `secure@${here}/postgres?sslmode=disable`,
    'host',
    'failed',
    /does not admit this user .* with this sslmode \(.*no encryption\)/,
  ],
  [
    'the authority is not trusted',
    `secure@localhost:${postgres.port}/postgres?sslmode=verify-full`,
    'host',
    'failed',
    /has a certificate of an authority that is not trusted \(.*\): name the authority in sslrootcert/,
  ],
  [
    'the certificate is for another name',
    `secure@${here}/postgres?sslmode=verify-full&sslrootcert=${join(postgres.folder, 'server.crt')}`,
    'host',
    'failed',
    /has a certificate for another name \(.*\): use a name that is in it, or sslmode=verify-ca/,
  ],
  [
    'TLS is required and the server has none',
    `postgres@127.0.0.1:${inject('postgresPort')}/postgres?sslmode=require`,
    'host',
    'failed',
    /has no TLS, which sslmode requires \(.*\): enable it, or use sslmode=prefer/,
  ],
  [
    'the user has no free connection',
    `full@${here}/postgres`,
    'host',
    'failed',
    /has no free connection \(.*\): lower pool_size or raise max_connections/,
  ],
  [
    'the encoding cannot hold every name',
    `postgres@${here}/latin`,
    'host',
    'failed',
    /must have the encoding UTF8, not LATIN1/,
  ],
  [
    'the database is read-only',
    `postgres@${here}/frozen`,
    'primary',
    'failed',
    /is read-only: free its disk, or end the maintenance/,
  ],
  [
    'the user may not create tables',
    `poor@${here}/empty`,
    'rights',
    'failed',
    /^its user may not create tables: grant create on schema public to poor$/,
  ],
  [
    'the user may not write to the tables',
    `poor@${here}/own`,
    'rights',
    'failed',
    /^its user may not write to the tables: grant select, insert, update, delete on all tables in schema public to poor$/,
  ],
  [
    'the user may not change rows of the tables',
    `part@${here}/own`,
    'rights',
    'failed',
    /^its user may not write to the tables: grant select, insert, update, delete on all tables in schema public to part$/,
  ],
  [
    'the user does not own the tables that are to be migrated',
    `part@${here}/older`,
    'rights',
    'failed',
    /^its user does not own the tables: grant "Owner" to part$/,
  ],
  [
    'no schema is in the search path',
    `lost@${here}/empty`,
    'database',
    'failed',
    /no schema that this user can use/,
  ],
  [
    'a newer release has migrated it',
    `postgres@${here}/later`,
    'database',
    'failed',
    /written by a newer Pubring/,
  ],
  [
    'power loss is not survived',
    `postgres@127.0.0.1:${inject('postgresPort')}/postgres`,
    'durability',
    'warned',
    /has (fsync, full_page_writes|full_page_writes, fsync) off: changes can be lost with the power, so switch it on/,
  ],
  [
    'a parameter is unknown',
    `postgres@${here}/postgres?sslmoed=require`,
    'database',
    'failed',
    /unknown parameter/,
  ],
  [
    'a parameter has no such value',
    `postgres@${here}/postgres?sslmode=yes`,
    'database',
    'failed',
    /must have one of disable, prefer, require, verify-ca, verify-full as sslmode/,
  ],
  [
    'a file of TLS is missing',
    `postgres@${here}/postgres?sslrootcert=/none`,
    'database',
    'failed',
    /sslrootcert/,
  ],
]

test.each(situations)('%s', async (_situation, address, step, outcome, sentence) => {
  const ran = await shell.pubring(['doctor', '--json'], {
    env: {
      PUBRING_DATABASE_URL: `postgres://${address}`,
      PUBRING_PORT: String(await freePort()),
    },
  })
  const { steps } = documentOf(ran) as { steps: Record<string, string>[] }
  const found = steps.find((one) => one.step === step)
  expect(found?.detail, JSON.stringify(steps)).toMatch(sentence)
  expect(found?.outcome).toBe(outcome)
  expect(ran.code).toBe(outcome === 'failed' ? 1 : 0)
  expect(ran.stdout).not.toContain('promote')
  expect(ran.stdout).not.toMatch(/geheim|falsch/)
})
