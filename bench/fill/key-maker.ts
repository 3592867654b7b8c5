/** A thread that generates P-256 keys and runs intake on each: everything but storing them. */
import { createECDH } from 'node:crypto'
import { parentPort } from 'node:worker_threads'
import { createBlocklist } from '../../packages/intake/src/blocklists/blocklist.ts'
import { writePem } from '../../packages/intake/src/encoding/pem-writer.ts'
import { examineKey } from '../../packages/intake/src/examine.ts'
import type { Accepted } from '../../packages/intake/src/types.ts'

/** SubjectPublicKeyInfo of a P-256 key up to the point (RFC 5480 section 2). */
const spkiPrefix = Buffer.from('3059301306072a8648ce3d020106082a8648ce3d030107034200', 'hex')

const curve = createECDH('prime256v1')
const blocklist = createBlocklist()

function freshKey(): Accepted {
  const pem = writePem(Buffer.concat([spkiPrefix, curve.generateKeys()]))
  const verdict = examineKey(pem, 'ES256', blocklist)
  if (!verdict.ok) throw new Error(`a new key was rejected: ${verdict.faults[0].code}`)
  return verdict
}

parentPort?.on('message', (count: number) => {
  parentPort?.postMessage(Array.from({ length: count }, freshKey))
})
