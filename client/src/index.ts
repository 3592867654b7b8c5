export type {
  ApiKeyOperations,
  CallOptions,
  Client,
  ClientOptions,
  DescendantsDecision,
  EventOperations,
  JwksOperations,
  KeyOperations,
  LogOperations,
  Precondition,
  ProjectOperations,
  TokenOperations,
  TrustPolicyOperations,
} from './api.ts'
export { createClient } from './client.ts'
export { type ClientErrorCode, PubringError } from './errors.ts'
export type * from './types.ts'
export { algorithms } from './types.ts'
