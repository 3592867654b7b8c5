export type {
  AccessRuleOperations,
  ApiKeyOperations,
  Client,
  ClientOptions,
  JwksOperations,
  LogOperations,
  ProjectOperations,
  TokenOperations,
} from './api.ts'
export type { CallOptions, Confirmation, Precondition } from './call-options.ts'
export { createClient } from './client.ts'
export { type ClientErrorCode, PubringError, type PubringErrorCode } from './errors.ts'
export {
  type EventOperations,
  type EventPosition,
  type EventQuery,
  type HistoryQuery,
  positionOf,
} from './event-api.ts'
export { type Expiry, expiriesOf } from './expiries.ts'
export type {
  KeyOperations,
  KeyUseOperations,
  RegistrationLinkOperations,
  RotationOperations,
} from './key-api.ts'
export { type KeyUseSummary, summarizeUse, verdictOfUse } from './key-use.ts'
export type { PersonOperations, SessionOperations } from './sign-in-api.ts'
export type * from './types.ts'
export { algorithms } from './types.ts'
