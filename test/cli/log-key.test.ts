import { generateKeyPairSync } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { openLogSigner } from '../../packages/cli/src/server/log-key.ts'
import { formatCheckpoint } from '../../packages/client/src/log/checkpoint.ts'
import { emptyRoot } from '../../packages/client/src/log/tree.ts'
import type { LogSigner } from '../../packages/server/src/kernel/context.ts'
import { rememberPrivateKey } from '../support/secrets.ts'
import { temporaryFolder } from '../support/server/process.ts'

let folder: string
beforeEach(() => {
  const temporary = temporaryFolder()
  folder = temporary.folder
  return temporary.remove
})

function open(create = true): LogSigner | undefined {
  return openLogSigner({ databaseUrl: `sqlite:${join(folder, 'new/pubring.db')}` }, { create })
}

function created(): LogSigner {
  const signer = open()
  if (signer === undefined) throw new Error('no signer')
  return signer
}

const note = (size: number) =>
  `${formatCheckpoint({ origin: 'example.com/log', size, root: emptyRoot })}\n— example.com/log AAAAAAA=\n`

test('the first start with SQLite creates a key for its owner, and later ones use it', () => {
  expect(open(false)).toBeUndefined()
  const file = join(folder, 'new/pubring.db.log-key')
  const { publicKey } = created()
  expect(statSync(file).mode & 0o777).toBe(0o600)
  rememberPrivateKey(readFileSync(file, 'utf8'))
  expect(created().publicKey).toEqual(publicKey)
  expect(open(false)?.publicKey).toEqual(publicKey)
})

test('a first start on a full disk leaves no key, and the next one creates it', () => {
  const file = join(folder, 'new/pubring.db.log-key')
  mkdirSync(join(folder, 'new'))
  symlinkSync('/dev/full', `${file}.${process.pid}.new`)
  expect(open()).toBeUndefined()
  expect(existsSync(file)).toBe(false)
  created()
  rememberPrivateKey(readFileSync(file, 'utf8'))
})

test('an error about a key that no setting names is about its file', () => {
  const file = join(folder, 'new/pubring.db.log-key')
  mkdirSync(join(folder, 'new'))
  writeFileSync(file, '')
  expect(() => open()).toThrow(`${file}, the key of the log, is a file without an Ed25519`)
})

test('the checkpoints of a key in a folder that is read-only have a place of their own', () => {
  created()
  const key = join(folder, 'new/pubring.db.log-key')
  rememberPrivateKey(readFileSync(key, 'utf8'))
  const logStateFile = join(folder, 'state.json')
  const config = { databaseUrl: 'postgres://db', logKeyFile: key, logStateFile }
  expect(openLogSigner(config, { create: false })?.record('example.com/log', note(5))).toBe(true)
  expect(readFileSync(logStateFile, 'utf8')).toContain('example.com/log')
  expect(existsSync(`${key}.checkpoints`)).toBe(false)
  const endless = openLogSigner({ ...config, logStateFile: '/dev/zero' }, { create: false })
  expect(endless?.newest).toThrow(/EFBIG|too large/)
  const lost = { ...config, logStateFile: join(folder, 'none/state.json') }
  const signer = openLogSigner(lost, { create: false })
  expect(() => signer?.record('example.com/log', note(5))).toThrow('ENOENT')
})

test('with PostgreSQL there is a key only if one is named', () => {
  const postgres = { databaseUrl: 'postgres://db.example.com/pubring' }
  expect(openLogSigner(postgres, { create: true })).toBeUndefined()
  const missing = { ...postgres, logKeyFile: join(folder, 'log.key') }
  expect(() => openLogSigner(missing, { create: true })).toThrow(
    'PUBRING_LOG_KEY_FILE names a file that does not exist.',
  )
})

test.each([
  ['another key', generateKeyPairSync('ed448').privateKey.export({ format: 'pem', type: 'pkcs8' })],
  [
    'a public key',
    generateKeyPairSync('ed25519').publicKey.export({ format: 'pem', type: 'spki' }),
  ],
])('%s cannot sign the log', (_name, pem) => {
  const config = { databaseUrl: 'postgres://', logKeyFile: join(folder, 'log.key') }
  writeFileSync(config.logKeyFile, pem)
  const message = 'without an Ed25519 private key in PEM'
  expect(() => openLogSigner(config, { create: true })).toThrow(message)
})

test('a later checkpoint is never replaced by an earlier one', () => {
  const signer = created()
  expect(signer.lastSigned('example.com/log')).toBeUndefined()
  expect(signer.record('example.com/log', note(5))).toBe(true)
  expect(signer.record('example.com/log', note(4))).toBe(false)
  expect(signer.record('example.com/log', note(5))).toBe(false)
  expect(signer.record('example.com/log/2', note(1))).toBe(true)
  expect(created().lastSigned('example.com/log')).toBe(note(5))
  expect(created().lastSigned('example.com/log/2')).toBe(note(1))
})

test('one process at a time stores a checkpoint, unless it was killed', () => {
  const signer = created()
  const lock = join(folder, 'new/pubring.db.log-key.checkpoints.new')
  writeFileSync(lock, '')
  expect(signer.record('example.com/log', note(5))).toBe(false)
  expect(existsSync(lock)).toBe(true)
  const earlier = Date.now() / 1_000 - 60
  utimesSync(lock, earlier, earlier)
  expect(signer.record('example.com/log', note(5))).toBe(true)
  expect(existsSync(lock)).toBe(false)
})
