/** What happens to each kind of subject. */
const happenings = {
  project: ['created', 'renamed', 'deleted', 'recorded'],
  key: ['created', 'updated', 'deleted', 'recorded', 'weakness_found'],
  rotation: ['started', 'updated', 'finished', 'abandoned', 'recorded'],
  registration_link: ['created', 'opened', 'token_checked', 'revoked', 'recorded'],
  private_key: ['refused'],
  api_key: ['created', 'updated', 'deleted', 'recorded'],
  ledger: ['accepted', 'opened'],
  log: ['started'],
  session: ['created', 'ended', 'recorded'],
  person: ['created', 'deleted', 'recorded'],
  access_rule: ['created', 'updated', 'deleted', 'recorded', 'keys_ended'],
  token: ['exchanged', 'used'],
}

/**
 * The types of events that can be asked for: those of the kernel and the features. Completion reads them
 * at each key, so this file loads nothing.
 */
export const eventTypes: readonly string[] = Object.entries(happenings).flatMap(([kind, verbs]) =>
  verbs.map((verb) => `${kind}.${verb}`),
)
