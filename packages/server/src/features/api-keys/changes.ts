import { change, type Origin, type RecordChange, type RecordUpdate } from '../../kernel/changes.ts'
import type { ApiKeyUpdate } from './contract.ts'
import type { ApiKeyRecord } from './stored.ts'

export interface ApiKeyCreation {
  origin: Origin
  apiKey: ApiKeyRecord
  /** Creates it only if there is no API key yet; otherwise returns the oldest one. */
  first?: true
}

export const apiKeyChanges = {
  createApiKey: change<ApiKeyCreation, ApiKeyRecord>('api_key.create', {
    events: ({ apiKey }) => ({ subjects: [apiKey.id] }),
  }),
  updateApiKey: change<RecordUpdate<ApiKeyUpdate>, ApiKeyRecord>('api_key.update'),
  deleteApiKey: change<RecordChange>('api_key.delete'),
}
