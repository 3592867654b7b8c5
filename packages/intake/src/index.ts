export { type Blocklist, createBlocklist, searchRecords } from './blocklists/blocklist.ts'
export { examineCheaply, examineKey } from './examine.ts'
export { describeUnusable } from './formats/ssh.ts'
export type {
  Accepted,
  ExposedKey,
  Fault,
  PublicJwk,
  PublicKey,
  Repair,
  Verdict,
} from './types.ts'
export { detectWrongKind } from './wrong-kind.ts'
