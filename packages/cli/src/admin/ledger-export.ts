import { writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { formatConsistency } from '@pubring/client/internal/log/checkpoint'
import { parseNote } from '@pubring/client/internal/log/note'
import {
  consistencyProof,
  createTileReader,
  formatTilePath,
  parseCheckpoint,
} from '@pubring/client/log'
import { formatCount } from '@pubring/server/runtime/text'
import { readLogFile } from '../connection/remote.ts'
import type { Session } from '../connection/session.ts'
import { fileError, usageError } from '../terminal/failures.ts'
import { readText } from '../terminal/files.ts'

/**
 * Writes the events of a ledger to `NAME.jsonl` and their proof to `NAME.tlog-proof`; with `--since`,
 * also the consistency proof to `NAME.consistency`. The files must not exist.
 */
export async function exportLedger(
  session: Session,
  file: string,
  { system, since }: { system?: true; since?: string },
): Promise<void> {
  const name = file.replace(/\.jsonl$/, '')
  const scope = system === true ? {} : { project: session.project }
  const proof = await session.client.log.prove(scope)
  const files = [`${name}.jsonl`, `${name}.tlog-proof`]
  const events = await writeEvents(session, { file: `${name}.jsonl`, scope, ...proof })
  writeNew(`${name}.tlog-proof`, proof.proof)
  if (since !== undefined) {
    const older = await readText(since, session.terminal)
    writeNew(`${name}.consistency`, await proveConsistency(session, older, proof.checkpoint))
    files.push(`${name}.consistency`)
  }
  const { ledgerId, revision } = proof
  session.print({ ledgerId, events, logged: revision, files })
  session.notify(
    `Exported ${formatCount(events, 'event')}, of which the log has ${revision}: ${files.join(', ')}`,
  )
}

/** One event per line, with the id of its ledger, which its hash covers. Returns their number. */
async function writeEvents(
  { client }: Session,
  { file, scope, ledgerId }: { file: string; scope: { project?: string }; ledgerId: string },
): Promise<number> {
  const handle = await open(file, 'wx').catch((error: unknown) => {
    throw cannotWrite(file, error)
  })
  let last = 0
  async function* lines() {
    for await (const event of client.events.all(scope)) {
      last = event.revision
      yield `${JSON.stringify({ ledgerId, ...event })}\n`
    }
  }
  await pipeline(lines, handle.createWriteStream())
  return last
}

/**
 * Proves that the log of `checkpoint` continues that of `since`. Reads the tiles of the log from the
 * server of the session.
 */
async function proveConsistency({ client }: Session, since: string, checkpoint: string) {
  const [older, newer] = [since, checkpoint].map((note) => parseCheckpoint(parseNote(note).text))
  if (older === undefined || newer === undefined || older.origin !== newer.origin) {
    throw usageError(
      `--since is a checkpoint of ${older?.origin}, and the log is ${newer?.origin}.`,
    )
  }
  const [prefix = '/log'] = /\/log\/[0-9a-f]{8}$/.exec(newer.origin) ?? []
  const log = client.url.replace(/\/v1$/, prefix)
  const read = createTileReader(newer.size, (tile) => readLogFile(log, formatTilePath(tile)))
  const hashes = await consistencyProof(older.size, newer.size, read)
  return formatConsistency({ oldSize: older.size, hashes, checkpoint })
}

function writeNew(file: string, text: string): void {
  try {
    writeFileSync(file, text, { flag: 'wx' })
  } catch (error) {
    throw cannotWrite(file, error)
  }
}

function cannotWrite(file: string, error: unknown): unknown {
  const exists = error instanceof Error && 'code' in error && error.code === 'EEXIST'
  return fileError(exists ? `${file} exists already.` : `${file} cannot be written.`)
}
