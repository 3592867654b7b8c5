import {
  createHmac,
  createPrivateKey,
  createSecretKey,
  generateKeyPairSync,
  hkdfSync,
  sign,
} from 'node:crypto'
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import process from 'node:process'
import type { Config } from '@pubring/server/config/server-settings'
import { readCheckpoint } from '@pubring/server/features/log/signing'
import type { LogSigner } from '@pubring/server/kernel/context'
import { isPostgres } from '@pubring/server/kernel/storage/database-url'
import { sqliteFileOf } from '@pubring/server/kernel/storage/open'
import {
  makePrivateFolder,
  moveIntoPlace,
  readBounded,
  syncToDisk,
} from '@pubring/server/runtime/files'
import { isObject, parseJson } from '@pubring/server/runtime/json'
import { readNamed } from './blocklist.ts'

/** A process that holds the file for longer was killed. */
const maxWriteMs = 10_000

type KeyConfig = Pick<Config, 'databaseUrl' | 'logKeyFile' | 'logStateFile'>

/** The configured file, or the one beside the SQLite database; undefined if there is none. */
export function logKeyFile({ databaseUrl, logKeyFile }: KeyConfig): string | undefined {
  if (logKeyFile !== undefined || isPostgres(databaseUrl)) return logKeyFile
  return `${sqliteFileOf(databaseUrl)}.log-key`
}

/** The file of the signed checkpoints: the configured one, or the one beside the key. */
export function logStateFile(config: KeyConfig): string | undefined {
  const file = logKeyFile(config)
  return config.logStateFile ?? (file && `${file}.checkpoints`)
}

/**
 * The signer of the log, if this process has a key. `create`: makes the key of an SQLite database, if
 * there is none. Throws one line for a person if the key cannot be used.
 */
export function openLogSigner(
  config: KeyConfig,
  { create }: { create: boolean },
): LogSigner | undefined {
  const [file, state] = [logKeyFile(config), logStateFile(config)]
  if (file === undefined || state === undefined) return undefined
  const isNamed = config.logKeyFile !== undefined
  if (!isNamed && !existsSync(file) && !(create && createKeyFile(file))) return undefined
  const key = isNamed
    ? parseKey('PUBRING_LOG_KEY_FILE names a file', readNamed('PUBRING_LOG_KEY_FILE', file))
    : parseKey(`${file}, the key of the log, is a file`, readFileSync(file))
  const { x = '', d = '' } = key.export({ format: 'jwk' })
  const derived = hkdfSync('sha256', Buffer.from(d, 'base64url'), '', 'pubring ledgers', 32)
  const secret = createSecretKey(new Uint8Array(derived))
  return {
    publicKey: Uint8Array.from(Buffer.from(x, 'base64url')),
    blindingOf: (ledgerId) => createHmac('sha256', secret).update(ledgerId).digest(),
    sign: (message) => Uint8Array.from(sign(null, message, key)),
    ...createSignedCheckpoints(state),
  }
}

/**
 * Creates a file that only its owner can read, whole or not at all. False if there is none: opening the
 * database says why.
 */
function createKeyFile(file: string): boolean {
  const { privateKey } = generateKeyPairSync('ed25519')
  const pem = privateKey.export({ format: 'pem', type: 'pkcs8' })
  const partial = `${file}.${process.pid}.new`
  try {
    makePrivateFolder(dirname(file))
    writeFileSync(partial, pem, { mode: 0o600, flush: true })
    moveIntoPlace(partial, file, false)
  } catch {
    // Another process may have created it.
  }
  rmSync(partial, { force: true })
  return existsSync(file)
}

/** `subject`: how the error for another content begins. */
function parseKey(subject: string, pem: Uint8Array) {
  try {
    const key = createPrivateKey(Buffer.from(pem))
    if (key.asymmetricKeyType === 'ed25519') return key
  } catch {
    // The error below says the same.
  }
  throw new Error(
    `${subject} without an Ed25519 private key in PEM: make one with openssl genpkey -algorithm ed25519 -out log.key`,
  )
}

/** The last signed checkpoint of each origin: JSON, replaced durably by one process at a time. */
function createSignedCheckpoints(
  file: string,
): Pick<LogSigner, 'lastSigned' | 'newest' | 'record'> {
  const next = `${file}.new`
  function read(): Record<string, string> {
    if (!existsSync(file)) return {}
    const content = parseJson(readBounded(file).toString())
    if (isObject(content)) return content as Record<string, string>
    throw new Error(
      `${file} is damaged. Restore it, or remove it and restart the log with a new key.`,
    )
  }
  return {
    lastSigned: (origin) => read()[origin],
    newest: () => Object.values(read()).at(-1),
    record(origin, checkpoint) {
      const descriptor = openExclusively(next)
      if (descriptor === undefined) return false
      let isReplaced = false
      try {
        const all = read()
        const last = all[origin]
        const isNewer =
          last === undefined || readCheckpoint(last).size < readCheckpoint(checkpoint).size
        if (!isNewer) return false
        writeFileSync(descriptor, `${JSON.stringify({ ...all, [origin]: checkpoint }, null, 2)}\n`)
        fsyncSync(descriptor)
        renameSync(next, file)
        isReplaced = true
        syncToDisk(dirname(file))
        return true
      } finally {
        closeSync(descriptor)
        if (!isReplaced) rmSync(next, { force: true })
      }
    },
  }
}

/** A new file; undefined if another process has just created it. */
function openExclusively(file: string): number | undefined {
  const since = statSync(file, { throwIfNoEntry: false })?.mtimeMs
  if (since !== undefined && Date.now() - since > maxWriteMs) rmSync(file, { force: true })
  try {
    return openSync(file, 'wx', 0o600)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return undefined
    throw error
  }
}
