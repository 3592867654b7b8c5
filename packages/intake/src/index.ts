export { type Blocklist, createBlocklist, searchRecords } from './blocklists/blocklist.ts'
export { examineCheaply, examineKey, identifyKey } from './examine.ts'
export { describeJwkFault } from './formats/json.ts'
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
