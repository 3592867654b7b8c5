export { KeySetError, type KeySetErrorCode } from './key-set/errors.ts'
export type { VerifyKey } from './key-set/import.ts'
export {
  type PastKeySet,
  type PastOptions,
  type PastVerdict,
  pastKeySet,
} from './key-set/key-history.ts'
export type {
  KeySetOptions,
  KeySetState,
  LogOptions,
  ProjectKeySet,
  ReportOptions,
  TokenHeader,
} from './key-set/options.ts'
export { projectKeySet } from './key-set/project.ts'
