import { writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { formatCount } from '@pubring/server/runtime/text'
import type { Session } from '../connection/session.ts'
import { fileError } from '../terminal/failures.ts'

/** Writes the events of a ledger to `NAME.jsonl` and their proof to `NAME.tlog-proof`, which must not exist. */
export async function exportLedger(
  session: Session,
  file: string,
  { system }: { system?: true },
): Promise<void> {
  const name = file.replace(/\.jsonl$/, '')
  const scope = system === true ? {} : { project: session.project }
  const proof = await session.client.log.prove(scope)
  const files = [`${name}.jsonl`, `${name}.tlog-proof`] as const
  const [eventsFile, proofFile] = files
  const events = await writeEvents(session, { file: eventsFile, scope, ...proof })
  writeNew(proofFile, proof.proof)
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
