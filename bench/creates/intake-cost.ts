/** What the intake alone costs: examines the keys that the parent sends, with nothing around it. */
import process from 'node:process'
import { createBlocklist } from '../../src/intake/blocklists/blocklist.ts'
import { examineKey } from '../../src/intake/index.ts'
import { cpuMicros } from '../load/usage.ts'

const blocklist = createBlocklist()

/** Answers with the CPU time per key in microseconds. */
process.on('message', (pems: string[]) => {
  const before = cpuMicros([process.pid])
  const taken = pems.filter((pem) => examineKey(pem, 'RS256', blocklist).ok)
  if (taken.length < pems.length) throw new Error('the intake refused a key')
  process.send?.((cpuMicros([process.pid]) - before) / pems.length)
})
