const typeLabels: Record<string, string> = {
  'project.created': 'Project created',
  'project.renamed': 'Project renamed',
  'project.deleted': 'Project deleted',
  'project.recorded': 'Project recorded as it is',
  'key.created': 'Key registered',
  'key.updated': 'Key changed',
  'key.deleted': 'Key deleted',
  'key.recorded': 'Key recorded as it is',
  'key.expired': 'Key expired',
  'key.weakness_found': 'Weakness found',
  'rotation.started': 'Rotation started',
  'rotation.updated': 'Rotation changed',
  'rotation.finished': 'Rotation finished',
  'rotation.abandoned': 'Rotation abandoned',
  'rotation.recorded': 'Rotation recorded as it is',
  'private_key.refused': 'Private key rejected',
  'api_key.created': 'API key created',
  'api_key.updated': 'API key changed',
  'api_key.deleted': 'API key deleted',
  'log.started': 'Log started',
  'api_key.recorded': 'API key recorded as it is',
  'ledger.accepted': 'Ledger accepted',
  'ledger.opened': 'Ledger opened',
  'session.created': 'Signed in',
  'session.ended': 'Session ended',
  'session.recorded': 'Session recorded as it is',
  'person.created': 'Person signed in for the first time',
  'person.deleted': 'Person erased',
  'person.recorded': 'Person recorded as they are',
  'access_rule.created': 'Access rule created',
  'access_rule.updated': 'Access rule changed',
  'access_rule.deleted': 'Access rule deleted',
  'access_rule.recorded': 'Access rule recorded as it is',
  'access_rule.keys_ended': 'API keys of an access rule ended',
  'token.exchanged': 'Token exchanged',
  'token.used': 'Single-use token used',
}

/** The types that the history of all ledgers has, or that of a project. */
export function typesOfHistory(ofAll: boolean): string[] {
  const ofProjects = /^(project|key|rotation|private_key|ledger|api_key|token)\./
  return Object.keys(typeLabels).filter((type) => ofAll || ofProjects.test(type))
}

/** The label of an event type in the filter. */
export function typeLabel(type: string): string {
  return typeLabels[type] ?? type
}
