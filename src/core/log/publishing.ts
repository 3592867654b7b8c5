import { concatBytes, utf8 } from '../../../client/src/log/encoding.ts'
import { parseTilePath, tileWidth, tileWidthIn } from '../../../client/src/log/tiles.ts'
import { logError } from './faults.ts'
import type { LogReads } from './records.ts'
import { readTile } from './tiles.ts'

/**
 * The tile or bundle of entries at a path below the prefix of the log (C2SP tlog-tiles), as far as the
 * checkpoint covers it; undefined if there is none.
 */
export async function readLogFile(
  log: LogReads,
  number: number,
  path: string,
): Promise<Uint8Array | undefined> {
  const tile = parseTilePath(path)
  const current = tile === undefined ? undefined : await log.epoch(number)
  if (tile === undefined || current === undefined) return undefined
  const { epoch, checkpointSize } = current
  if (tile.width > tileWidthIn(checkpointSize, tile)) return undefined
  const { level, index, width } = tile
  if (level !== 'entries') return readTile(log, epoch, { level, index, width })
  const start = index * tileWidth
  const entries = await log.entries(epoch, { start, end: start + width })
  if (entries.length !== width) throw logError('damaged')
  return concatBytes(...entries.map(withLength))
}

/** The entry after its length in two bytes. */
function withLength(content: string): Uint8Array {
  const bytes = utf8(content)
  return concatBytes(Uint8Array.of(bytes.length >> 8, bytes.length & 255), bytes)
}
