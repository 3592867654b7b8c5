import { eventTypes } from '@pubring/server/features/events/types'
import { capitalized } from '../components/capitalized.ts'
import { expiredType } from './filter.ts'

const nouns: Record<string, string> = {
  project: 'project',
  key: 'key',
  rotation: 'rotation',
  registration_link: 'registration link',
  private_key: 'private key',
  api_key: 'API key',
  ledger: 'ledger',
  session: 'session',
  person: 'person',
  access_rule: 'access rule',
  token: 'token',
}

/** The verb of an event by its type or the end of it; the subject is at `…` or at the end. */
const verbs: Record<string, string> = {
  'key.created': 'Registered',
  'session.created': 'Began',
  'person.created': 'Saw … for the first time',
  'person.deleted': 'Erased',
  'access_rule.keys_ended': 'Ended the API keys of',
  'registration_link.token_checked': 'Checked a valid token by',
  created: 'Created',
  deleted: 'Deleted',
  exchanged: 'Exchanged',
  recorded: 'Recorded … as it is',
  refused: 'Rejected',
  renamed: 'Renamed',
  started: 'Started',
  finished: 'Finished',
  abandoned: 'Abandoned',
  accepted: 'Accepted',
  opened: 'Opened',
  ended: 'Ended',
  revoked: 'Revoked',
  used: 'Used',
}

export const nounOf = (subject: string) => nouns[subject] ?? subject

export const verbOf = (type: string) => verbs[type] ?? verbs[type.replace(/.*\./, '')]

/** The labels that do not follow from the subject and what happened to it. */
const typeLabels: Record<string, string> = {
  [expiredType]: 'Key expired',
  'key.weakness_found': 'Weakness found',
  'session.created': 'Signed in',
  'person.created': 'Person signed in for the first time',
  'person.recorded': 'Person recorded as they are',
  'access_rule.keys_ended': 'API keys of an access rule ended',
  'registration_link.token_checked': 'Valid token checked by a registration link',
}

export function typesOfHistory(ofAll: boolean): string[] {
  const ofProjects = /^(project|key|rotation|registration_link|private_key|ledger|api_key|token)\./
  return [...eventTypes, expiredType].filter((type) => ofAll || ofProjects.test(type))
}

export function typeLabel(type: string): string {
  const [subject = ''] = type.split('.')
  const words = `${nounOf(subject)} ${verbOf(type)?.toLowerCase().replace('… ', '') ?? 'changed'}`
  return typeLabels[type] ?? capitalized(words)
}
