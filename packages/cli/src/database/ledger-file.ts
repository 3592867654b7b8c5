import { hash } from 'node:crypto'
import type { Bytes } from '@pubring/client/internal/log/encoding'
import {
  type ChainPosition,
  type ExportedEvent,
  formatVerifierKey,
  type LedgerProof,
  LogError,
  type LoggedHeads,
  parseLedgerProof,
  parseVerifierKey,
  scanLog,
  type TrustedKeys,
  type VerifiedCheckpoint,
  verifyChain,
  verifyCheckpoint,
  verifyLedgerProof,
} from '@pubring/client/log'
import type { LogOptions } from '@pubring/client/verify'
import { isObject, parseJson } from '@pubring/server/runtime/json'
import { present } from '@pubring/server/runtime/present'
import { formatCount } from '@pubring/server/runtime/text'
import { readLogFile } from '../connection/remote.ts'
import { configureProxy } from '../connection/session.ts'
import { exitCodes } from '../terminal/exit-codes.ts'
import { usageError } from '../terminal/failures.ts'
import { readLines, readText } from '../terminal/files.ts'
import { colorsFor, notify, printResult, type Terminal } from '../terminal/terminal.ts'
import { describeServed, type ServedKeys, verifyServedKeys } from './served-keys.ts'

/** Flags of `ledger verify` for an exported ledger. */
export interface LedgerFileFlags {
  file: string
  proof?: string
  logKey?: string
  witnessKey?: string[]
  log?: string
  since?: string
}

/** The verified facts about an export. */
interface Verified {
  proof: LedgerProof
  checkpoint: VerifiedCheckpoint
  /** The checkpoint of --since. */
  older?: VerifiedCheckpoint
  last: ChainPosition
  heads?: LoggedHeads
  served?: ServedKeys
}

/**
 * Verifies an exported ledger with its proof, and the log's entries, the key set that is served beside them
 * and an earlier checkpoint if they are named; exit code 1 if something contradicts, or the key set was not verified. Needs no contact to the registry.
 */
export async function verifyFile(terminal: Terminal, flags: LedgerFileFlags): Promise<void> {
  const { green, red } = colorsFor(terminal)
  try {
    const verified = await verifyAll(terminal, flags)
    printResult(terminal, toDocument(verified), () => {
      const { ledgerId } = verified.proof.head
      const { revision, hash } = verified.last
      return `${green('whole ')}  ${ledgerId}  revision ${revision}  ${hash}\n`
    })
    for (const line of describe(verified)) notify(terminal, line)
    const { served } = verified
    if (served && 'unverified' in served) terminal.exitCode = exitCodes.failed.code
  } catch (error) {
    if (!(error instanceof LogError)) throw error
    const { code, message } = error
    const document = { whole: false, broken: { code, detail: message } }
    printResult(terminal, document, () => `${red('BROKEN')}  ${message}\n`)
    terminal.exitCode = exitCodes.failed.code
  }
}

async function verifyAll(terminal: Terminal, flags: LedgerFileFlags): Promise<Verified> {
  if (flags.proof === undefined || flags.logKey === undefined) {
    throw usageError('--file needs --proof and --log-key: what the export is compared with.')
  }
  const keys = await readKeys(flags.logKey, flags.witnessKey)
  const proof = parseLedgerProof(await readText(flags.proof, terminal))
  const checkpoint = await verifyLedgerProof(proof, keys)
  const { file, log, since } = flags
  if (log === undefined) {
    if (since !== undefined) throw usageError('--since needs --log: what has to extend it.')
    const { last } = await verifyEvents(terminal, file, { proof })
    return { proof, checkpoint, last }
  }
  const older =
    since === undefined
      ? undefined
      : await verifyCheckpoint(await readText(since, terminal), { log: keys.log })
  const earlier = [checkpoint, ...(older === undefined ? [] : [older])]
  const restoreProxy = configureProxy(terminal.env)
  try {
    const heads = await scan(log, { proof, keys, since: earlier })
    const { last, isDeleted } = await verifyEvents(terminal, file, { proof, heads })
    const ledger = { ledgerId: proof.head.ledgerId, newest: newestOf(heads), isDeleted }
    const served = await verifyServedKeys(log, ledger, toOptions(keys), (reason) =>
      waitForLog(terminal, reason),
    )
    return { proof, checkpoint, last, heads, ...present({ older, served }) }
  } finally {
    restoreProxy()
  }
}

/**
 * Milliseconds after which the log has what was committed before: two of its intervals, as one is skipped
 * after an append by another process, and time for a run.
 */
const logDelayMs = 130_000

function waitForLog(terminal: Terminal, reason: string): Promise<void> {
  const seconds = logDelayMs / 1_000
  notify(
    terminal,
    `${reason} Asking again in ${seconds} s, when the log has what has just changed.`,
  )
  return new Promise((resolve) => setTimeout(resolve, logDelayMs))
}

/** Verifies the exported events; resolves with the last one, and whether it is the deletion of the project. */
async function verifyEvents(
  terminal: Terminal,
  file: string,
  { proof, heads }: { proof: LedgerProof; heads?: LoggedHeads },
): Promise<{ last: ChainPosition; isDeleted: boolean }> {
  let isDeleted = false
  async function* events() {
    for await (const event of readEvents(file, terminal)) {
      isDeleted = event.type === 'project.deleted'
      yield event
    }
  }
  const last = await verifyChain(proof.head, events(), heads)
  return { last, isDeleted }
}

async function readKeys(log: string, witnesses: readonly string[] = []): Promise<TrustedKeys> {
  const parse = (option: string) => (text: string) =>
    parseVerifierKey(text.trim()).catch((error: unknown) => {
      throw usageError(`${option}: ${error instanceof Error ? error.message : error}`)
    })
  return {
    log: await parse('--log-key')(log),
    witnesses: await Promise.all(witnesses.map(parse('--witness-key'))),
  }
}

function toOptions({ log, witnesses = [] }: TrustedKeys): LogOptions {
  return { key: formatVerifierKey(log), witnesses: witnesses.map(formatVerifierKey) }
}

const newestOf = (heads: LoggedHeads) => Math.max(...heads.keys())

/** The heads of the ledger in the log as it is now. */
async function scan(
  url: string,
  { proof, keys, since }: { proof: LedgerProof; keys: TrustedKeys; since: VerifiedCheckpoint[] },
): Promise<LoggedHeads> {
  // The files of a tree are below its origin, whose last part is in the name of its key.
  const id = keys.log.name.split('/').at(-1) ?? ''
  const tree = url.replace(/\/+$/, '')
  const read = (path: string) => readLogFile(tree.endsWith(`/${id}`) ? tree : `${tree}/${id}`, path)
  const note = new TextDecoder().decode(await read('checkpoint'))
  const checkpoint = await verifyCheckpoint(note, keys)
  return scanLog(proof, { checkpoint, since, read, hash: sha256 })
}

const sha256 = (data: Bytes): Bytes => new Uint8Array(hash('sha256', data, 'buffer'))

async function* readEvents(file: string, terminal: Terminal): AsyncGenerator<ExportedEvent> {
  for await (const line of readLines(file, terminal)) {
    const event = parseJson(line)
    if (!isObject(event)) {
      throw new LogError('malformed', `${file} has a line that is not an event.`)
    }
    yield event as ExportedEvent
  }
}

function toDocument({ proof, checkpoint, older, last, heads, served }: Verified): object {
  const { ledgerId: ledger, revision, time } = proof.head
  const { origin, size, cosignatures } = checkpoint
  return {
    ledger,
    whole: true,
    revision: last.revision,
    hash: last.hash,
    logged: { revision, time, index: proof.index },
    checkpoint: { origin, size, cosignatures },
    ...present({ since: older?.size, heads: heads?.size, served }),
  }
}

function describe({ proof, checkpoint, older, last, heads, served }: Verified): string[] {
  const { revision, time } = proof.head
  const { origin, size, cosignatures } = checkpoint
  const cosigned = cosignatures.map(
    ({ name, time }) => `, cosigned by ${name} at ${new Date(time * 1_000).toISOString()}`,
  )
  const lines = [
    `The log ${origin} has event ${revision} since ${time}: entry ${proof.index} of ${size}${cosigned.join('')}.`,
  ]
  if (last.revision > revision) {
    lines.push(`The events after ${revision} are chained to it, but this proof is older.`)
  }
  if (older !== undefined) {
    lines.push(`The log extends the ${older.size} entries of the earlier checkpoint.`)
  }
  if (heads === undefined) return lines
  const newest = newestOf(heads)
  lines.push(`It has ${formatCount(heads.size, 'head')} of this ledger, and none contradicts.`)
  if (newest > last.revision) {
    lines.push(`Its newest is event ${newest}: export the ledger again to verify the events since.`)
  }
  return served === undefined ? lines : [...lines, describeServed(served)]
}
