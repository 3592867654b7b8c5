import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { loadConfig } from '../../packages/server/src/config/server-settings.ts'
import { parsePostgresAddress } from '../../packages/server/src/kernel/storage/postgres/address.ts'
import { temporaryFolder } from '../support/server/process.ts'

const { folder } = temporaryFolder()
const pem = join(folder, 'root.pem')
writeFileSync(pem, '-----BEGIN CERTIFICATE-----\n')
const [checkServerIdentity, ca] = [expect.any(Function), expect.any(String)]

describe('an address', () => {
  test('has hosts, ports, user, password and database', () => {
    expect(
      parsePostgresAddress('postgresql://me:p%40ss%3A@db1:5433,db2,[::1]:5434/keys?pool_size=4'),
    ).toMatchObject({
      hosts: [
        { host: 'db1', port: 5433 },
        { host: 'db2', port: 5432 },
        { host: '::1', port: 5434 },
      ],
      user: 'me',
      database: 'keys',
      poolSize: 4,
      prepared: undefined,
      connectTimeoutMs: 2_000,
      statementTimeoutMs: 2_000,
    })
  })

  test('may have a Unix socket as its host, as in libpq', () => {
    const { hosts, database } = parsePostgresAddress('postgres://me@/keys?host=/run/pg&port=5433')
    expect(hosts).toEqual([{ host: '/run/pg', port: 5433 }])
    expect(database).toBe('keys')
  })

  test.each([
    ['', { rejectUnauthorized: false, servername: 'db' }],
    ['sslmode=disable', undefined],
    ['sslmode=require', { rejectUnauthorized: false, servername: 'db' }],
    [
      // As in libpq.
      `sslmode=require&sslrootcert=${pem}`,
      { rejectUnauthorized: true, servername: 'db', checkServerIdentity, ca },
    ],
    [
      `sslmode=verify-ca&sslrootcert=${pem}`,
      { rejectUnauthorized: true, servername: 'db', checkServerIdentity, ca },
    ],
    ['sslmode=verify-full', { rejectUnauthorized: true, servername: 'db' }],
  ])('with “%s” has these TLS options', (search, expected) => {
    const { tls, allowsPlaintext, database } = parsePostgresAddress(`postgres://me@db?${search}`)
    expect(tls('db')).toEqual(expected)
    expect(allowsPlaintext).toBe(search === '')
    // That of the user.
    expect(database).toBe('me')
  })

  test.each([
    ['prepared=on', true],
    ['prepared=off', false],
    ['', undefined],
  ])('with “%s” prepares statements by name: %s', (search, expected) => {
    expect(parsePostgresAddress(`postgres://me@db/k?${search}`).prepared).toBe(expected)
  })

  test('takes channel_binding, which it does without by default', () => {
    const bindingOf = (search: string) =>
      parsePostgresAddress(`postgres://me@db/k?${search}`).channelBinding
    expect(bindingOf('sslmode=require&channel_binding=require')).toBe('require')
    expect(bindingOf('')).toBe('disable')
  })

  test.each([
    ['ssl=true', /unknown parameter “ssl”; write sslmode=verify-full/],
    ['target_session_attrs=read-write', /“target_session_attrs”; leave it out: the primary/],
    ['sslmod=require', /“sslmod”; the known ones are .*sslmode/],
    ['channel_binding=yes', /one of disable, prefer, require as channel_binding/],
  ])('names a parameter that it does not have: %s', (search, problem) => {
    expect(() => parsePostgresAddress(`postgres://me@db/k?${search}`)).toThrow(problem)
  })

  test('quotes nothing of a password with an unescaped question mark', () => {
    const parse = () => parsePostgresAddress('postgres://me:top?secret=1@db/k')
    expect(parse).toThrow(/unknown parameter; /)
    expect(parse).not.toThrow(/secret/)
  })

  test.each([
    'postgres://me:geheim@db:x/k',
    'postgres://me:geh@eim@db:99999/k',
    'postgres://me:geheim%@db/k',
    'postgres://me:geheim@db/k?sslmode=on',
    'postgres://me:geheim@db/k?pool_size=0',
    'postgres://me:geheim@db/k?prepared=yes',
    'postgres://me:geheim@db/k?sslrootcert=/nowhere.pem',
    'postgres://me:geheim@/k',
    'postgres://me:geheim@db/k/l',
  ])('%s is rejected in one line that does not quote it', (url) => {
    expect(() => parsePostgresAddress(url)).toThrow(/^The address of the database [^\n]*\.$/)
    expect(() => parsePostgresAddress(url)).not.toThrow(/geh|eim/)
  })
})

describe('the password', () => {
  const url = 'postgres://me@db/keys'
  const passwordOf = (env: Record<string, string>) =>
    parsePostgresAddress(loadConfig({ PUBRING_DATABASE_URL: url, ...env }).databaseUrl).password(db)
  const db = { host: 'db', port: 5_432 }
  const [file, passfile] = [join(folder, 'password'), join(folder, 'pgpass')]
  writeFileSync(file, 'from file@:/%\n')

  test('comes from its file', () => {
    expect(passwordOf({ PUBRING_DATABASE_PASSWORD_FILE: file })).toBe('from file@:/%')
    expect(passwordOf({ PUBRING_DATABASE_PASSWORD_FILE: file, PGPASSFILE: passfile })).toBe(
      'from file@:/%',
    )
    expect(passwordOf({})).toBeUndefined()
  })

  test.each([
    ['db:5432:keys:me:simple', 'simple'],
    ['*:*:*:*:a\\:b\\\\c', 'a:b\\c'],
    ['#db:5432:keys:me:comment\r\n\r\ndb:*:*:me:second\r\ndb:*:*:me:third', 'second'],
    ['other:*:*:*:x', undefined],
    ['*:5433:*:*:x', undefined],
    ['*:*:*:you:x', undefined],
    ['*:*:*:me', undefined],
  ])('comes from the first line of PGPASSFILE that matches: %j', (content, password) => {
    writeFileSync(passfile, `${content}\n`)
    expect(passwordOf({ PGPASSFILE: passfile })).toBe(password)
  })

  test('is read from PGPASSFILE for each host', () => {
    writeFileSync(passfile, 'a:*:*:*:one\nb:6000:*:*:two\n')
    const env = { PUBRING_DATABASE_URL: 'postgres://me@a,b:6000/keys', PGPASSFILE: passfile }
    const { hosts, password } = parsePostgresAddress(loadConfig(env).databaseUrl)
    expect(hosts.map(password)).toEqual(['one', 'two'])
  })

  test('in the address takes precedence', () => {
    const own = { PUBRING_DATABASE_URL: 'postgres://me:own@db/keys' }
    expect(passwordOf({ ...own, PUBRING_DATABASE_PASSWORD_FILE: file })).toBe('own')
  })

  test('applies to the replica address too', () => {
    const { databaseReplicaUrl = '' } = loadConfig({
      PUBRING_DATABASE_URL: url,
      PUBRING_DATABASE_REPLICA_URL: 'postgres://me@replica/keys',
      PUBRING_DATABASE_PASSWORD_FILE: file,
    })
    expect(parsePostgresAddress(databaseReplicaUrl).password(db)).toBe('from file@:/%')
  })

  test('in a missing or empty file is rejected in one line', () => {
    writeFileSync(join(folder, 'empty'), '\n')
    for (const name of ['nowhere', 'empty']) {
      const env = { PUBRING_DATABASE_PASSWORD_FILE: join(folder, name) }
      expect(() => loadConfig(env)).toThrow(/^PUBRING_DATABASE_PASSWORD_FILE names a file/)
    }
  })

  test('is ignored for SQLite', () => {
    const env = { PUBRING_DATABASE_URL: 'sqlite:./x.db', PUBRING_DATABASE_PASSWORD_FILE: file }
    expect(loadConfig(env).databaseUrl).toBe('sqlite:./x.db')
  })
})
