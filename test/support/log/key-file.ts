import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openLogSigner } from '../../../packages/cli/src/server/log-key.ts'
import type { LogSigner } from '../../../packages/server/src/kernel/context.ts'
import { endLater } from '../ending.ts'
import { rememberPrivateKey } from '../secrets.ts'

export interface TestKeyFile {
  file: string
  /** As a server opens it. */
  open(): LogSigner
  /** Puts a new key in its place. */
  replace(): void
  remove(): void
}

/** A new key of a log in a file, whose checkpoints are stored beside it. */
export function createKeyFile(): TestKeyFile {
  const folder = mkdtempSync(join(tmpdir(), 'pubring-log-'))
  const file = join(folder, 'log.key')
  function replace(): void {
    const { privateKey } = generateKeyPairSync('ed25519')
    rememberPrivateKey(privateKey)
    writeFileSync(file, privateKey.export({ format: 'pem', type: 'pkcs8' }))
  }
  replace()
  return {
    file,
    replace,
    open() {
      const signer = openLogSigner(
        { databaseUrl: 'postgres://unused', logKeyFile: file },
        { create: false },
      )
      if (signer === undefined) throw new Error('no signer')
      return signer
    },
    remove: endLater(() => rmSync(folder, { recursive: true })),
  }
}
