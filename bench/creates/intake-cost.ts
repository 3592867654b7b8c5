/** Measures intake alone: examines the keys that the parent sends, with nothing around it. */
import process from 'node:process'
import { createBlocklist } from '../../packages/intake/src/blocklists/blocklist.ts'
import { examineKey } from '../../packages/intake/src/examine.ts'
import { cpuMicros } from '../load/usage.ts'

const blocklist = createBlocklist()

/** Sends back the CPU time per key in microseconds. */
process.on('message', (pems: string[]) => {
  const before = cpuMicros([process.pid])
  const accepted = pems.filter((pem) => examineKey(pem, 'RS256', blocklist).ok)
  if (accepted.length < pems.length) throw new Error('the intake rejected a key')
  process.send?.((cpuMicros([process.pid]) - before) / pems.length)
})
