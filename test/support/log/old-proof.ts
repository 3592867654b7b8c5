import { parseCheckpoint } from '../../../packages/client/src/log/checkpoint.ts'
import {
  formatLedgerProof,
  type LastHead,
  parseLedgerProof,
} from '../../../packages/client/src/log/ledger-proof.ts'
import { parseNote } from '../../../packages/client/src/log/note.ts'
import { inclusionProof } from '../../../packages/client/src/log/proofs.ts'
import { createTileReader, formatTilePath } from '../../../packages/client/src/log/tiles.ts'

/** How a server without the key of the log tries to show that an old entry is the last one of its ledger. */
export const excuses = ['nothing', 'the map of then', 'the map of now'] as const

/**
 * The proof of a past entry in the newest checkpoint, made of what the server at `target` tells everyone and of
 * an earlier proof.
 */
export async function proveOldEntry(
  target: string,
  path: string,
  earlier: string,
  excuse: (typeof excuses)[number],
): Promise<string> {
  const read = async (file: string) => {
    const response = await fetch(`${target}${file}`)
    if (!response.ok) throw new Error(`${file}: ${response.status}`)
    return new Uint8Array(await response.arrayBuffer())
  }
  const text = async (file: string) => new TextDecoder().decode(await read(file))
  const checkpoint = await text('/log/checkpoint')
  const { origin, size } = parseCheckpoint(parseNote(checkpoint).text)
  const tree = `/log/${origin.split('/').at(-1)}`
  const node = createTileReader(size, (tile) => read(`${tree}/${formatTilePath(tile)}`))
  const { last: before, ...old } = parseLedgerProof(earlier)
  const { last: now } = parseLedgerProof(await text(path))
  if (before === undefined || now === undefined) throw new Error('a proof without the map')
  const map: Record<typeof excuse, LastHead | undefined> = {
    nothing: undefined,
    'the map of then': { ...before, hashes: now.hashes },
    'the map of now': now,
  }
  const last = map[excuse]
  const hashes = await inclusionProof(old.index, size, node)
  return formatLedgerProof({ ...old, ...(last && { last }), hashes, checkpoint })
}
