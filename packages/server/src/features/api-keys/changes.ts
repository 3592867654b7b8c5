import {
  change,
  type Origin,
  type RecordChange,
  type RecordUpdate,
  type Transaction,
} from '../../kernel/changes.ts'
import { hook } from '../../kernel/hooks.ts'
import { exchangeLedgerId, type NewEvent } from '../../kernel/ledger/chain.ts'
import type { ApiKeyUpdate } from './contract.ts'
import type { ApiKeyRecord } from './stored.ts'

export interface ApiKeyCreation {
  origin: Origin
  apiKey: ApiKeyRecord
  /** Creates it only if there is no API key yet; otherwise returns the oldest one. */
  first?: true
}

/** The issue of an API key for a token or to a session, which authorizes it. */
export interface ApiKeyIssue {
  origin: Origin
  apiKey: ApiKeyRecord
}

export const issueOptions = {
  ledgers: ({ apiKey }: ApiKeyIssue) => [apiKey.projectId ?? exchangeLedgerId],
  events: ({ apiKey }: ApiKeyIssue) => ({ subjects: [apiKey.id] }),
}

export const apiKeyChanges = {
  createApiKey: change<ApiKeyCreation, ApiKeyRecord>('api_key.create', {
    events: ({ apiKey }) => ({ subjects: [apiKey.id] }),
  }),
  updateApiKey: change<RecordUpdate<ApiKeyUpdate>, ApiKeyRecord>('api_key.update'),
  deleteApiKey: change<RecordChange>('api_key.delete'),
  issueApiKey: change<ApiKeyIssue>('api_key.issue', issueOptions),
  /** Deletes issued API keys a day after their end; returns whether more may be left. */
  forgetApiKeys: change<{ time: string }, boolean>('api_key.forget'),
}

/** Ends what depends on a deleted API key; returns the events for the ledger of the system. */
export const apiKeyDeleted = hook<[tx: Transaction, id: string], Promise<NewEvent[]>>()
