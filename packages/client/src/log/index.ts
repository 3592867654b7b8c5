export type { ChainPosition } from './chain.ts'
export { type Checkpoint, parseCheckpoint } from './checkpoint.ts'
export { LogError, type LogErrorCode } from './errors.ts'
export { type ExportedEvent, type LoggedHeads, verifyChain } from './ledger.ts'
export {
  type LedgerProof,
  type LoggedHead,
  parseLedgerProof,
  type TrustedKeys,
  type VerifiedCheckpoint,
  verifyCheckpoint,
  verifyLast,
  verifyLedgerProof,
} from './ledger-proof.ts'
export { formatVerifierKey, parseVerifierKey, type VerifierKey } from './note.ts'
export { consistencyProof, inclusionProof, type ReadNode, treeRoot } from './proofs.ts'
export { type ListedKey, type Publication, verifyPublication } from './publication.ts'
export { scanLog } from './scan.ts'
export {
  createTileReader,
  formatTilePath,
  parseEntries,
  parseTilePath,
  type TileName,
} from './tiles.ts'
export { leafHash, type TreeHead, verifyConsistency, verifyInclusion } from './tree.ts'
