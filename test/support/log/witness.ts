import { hash } from 'node:crypto'
import { text } from 'node:stream/consumers'
import {
  type Checkpoint,
  parseCheckpoint,
  parseHash,
  parseWholeNumber,
} from '../../../packages/client/src/log/checkpoint.ts'
import { LogError } from '../../../packages/client/src/log/errors.ts'
import { parseNote, type VerifierKey, verifyNote } from '../../../packages/client/src/log/note.ts'
import { verifyConsistency } from '../../../packages/client/src/log/tree.ts'
import type { Witness } from '../../../packages/server/src/kernel/context.ts'
import { startHttpsServer } from '../network/https-server.ts'
import { createSigner } from './signers.ts'

/** A witness of C2SP tlog-witness for one log, over HTTPS, whose state tests can change. */
export async function startWitness(log: VerifierKey, host = 'witness.test') {
  const signer = await createSigner(`${host}/w`, 'cosignature')
  const state: {
    latest?: Checkpoint
    /** Answers instead of the witness, if it returns something. */
    respond?: (path: string) => { status: number; body: string } | 'never' | undefined
    bodies: string[]
  } = { bodies: [] }

  async function addCheckpoint(body: string): Promise<{ status: number; body: string }> {
    const [, proof = '', checkpoint = ''] = /^(.*?)\n\n(.*)$/s.exec(body) ?? []
    const [first = '', ...lines] = proof.split('\n')
    const [oldSize, hashes] = [parseWholeNumber(first.replace(/^old /, '')), lines.map(parseHash)]
    const note = parseNote(checkpoint)
    const newer = parseCheckpoint(note.text)
    if (newer.origin !== log.name) return { status: 404, body: 'unknown log\n' }
    await verifyNote(note, [log])
    const older = state.latest ?? { size: 0, root: hashOfNothing }
    if (oldSize > newer.size) return { status: 400, body: 'bad size\n' }
    if (oldSize !== older.size) return { status: 409, body: `${older.size}\n` }
    if (oldSize === 0 ? hashes.length > 0 : !(await verifyConsistency(older, newer, hashes))) {
      return { status: 422, body: 'bad consistency proof\n' }
    }
    state.latest = newer
    return { status: 200, body: `${await signer.sign(note.text, Math.floor(Date.now() / 1000))}\n` }
  }
  const server = await startHttpsServer([host], async (request, response) => {
    const body = await text(request)
    state.bodies.push(body)
    const answer =
      state.respond?.(request.url ?? '') ??
      (await addCheckpoint(body).catch((error: unknown) => {
        const status = error instanceof LogError && error.code === 'untrusted' ? 403 : 400
        return { status, body: `${error}\n` }
      }))
    if (answer !== 'never') response.writeHead(answer.status).end(answer.body)
  })
  const witness: Witness = { key: signer.key, url: server.urlOf(host) }
  return { ...server, witness, state, signer }
}

const hashOfNothing = new Uint8Array(hash('sha256', '', 'buffer'))
