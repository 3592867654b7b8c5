import type { Event } from '../../../client/src/index.ts'

type Changes = NonNullable<Event['changes']>
type Change = Changes[string]

const types: Record<string, string> = {
  'project.created': 'Project created',
  'project.renamed': 'Project renamed',
  'project.deleted': 'Project deleted',
  'key.created': 'Key registered',
  'key.updated': 'Key changed',
  'key.deleted': 'Key deleted',
  'key.weakness_found': 'Weakness found',
  'private_key.refused': 'Private key refused',
  'api_key.created': 'API key created',
  'api_key.updated': 'API key changed',
  'api_key.deleted': 'API key deleted',
}

/** A type of event in words, for a list to choose from. */
export function typeWords(type: string): string {
  return types[type] ?? type
}

/** The last label or name that these events (newest first) tell of each subject, by its id. */
export function labelsOf(events: Event[]): Map<string, string> {
  const labels = new Map<string, string>()
  for (const { subject, changes } of events) {
    const label = changes?.label ?? changes?.name
    const text = label?.to ?? label?.from
    if (text !== undefined && !labels.has(subject.id)) labels.set(subject.id, String(text))
  }
  return labels
}

const nouns: Record<string, string> = { project: 'project', key: 'key', api_key: 'API key' }

const verbs: Record<string, string> = {
  'project.created': 'Created',
  'project.renamed': 'Renamed',
  'project.deleted': 'Deleted',
  'key.created': 'Registered',
  'key.deleted': 'Deleted',
  'api_key.created': 'Created',
  'api_key.deleted': 'Deleted',
}

/** A sentence in parts: what was done, to what, of which name, and how. */
export type Sentence = { verb: string; noun: string; name?: string; rest: string }

/** What happened, in words; `name` is the last one known of the subject. */
export function sentenceOf(event: Event, name: string | undefined): Sentence {
  const { type, subject, changes = {} } = event
  const known = name === undefined ? {} : { name }
  const noun = nouns[subject.type] ?? subject.type
  if (type === 'private_key.refused') {
    return { verb: 'Refused', noun: 'a private key that was submitted', rest: '' }
  }
  if (type === 'key.weakness_found') {
    return { verb: 'Found a weakness in', noun, ...known, rest: listed(changes) }
  }
  const verb = verbs[type]
  const renamed = changes.name ?? changes.label
  if (type === 'project.renamed' && renamed !== undefined) return renaming(noun, renamed)
  if (verb !== undefined) return { verb, noun, ...known, rest: '' }
  return { ...updated(noun, changes), ...known, ...renamedAlone(noun, changes) }
}

function updated(noun: string, changes: Changes): Sentence {
  const members = Object.keys(changes)
  const [only] = members
  const change = only === undefined ? undefined : changes[only]
  if (members.length !== 1 || change === undefined) {
    return { verb: 'Changed', noun, rest: listed(changes) }
  }
  if (only === 'active') return { verb: switched(noun, change.to === true), noun, rest: '' }
  if (only === 'expireTime' && change.to === undefined) {
    return { verb: 'Removed the expiry of', noun, rest: '' }
  }
  if (only === 'expireTime')
    return { verb: 'Set the expiry of', noun, rest: `to ${shown(change.to)}` }
  return {
    verb: `Changed the ${only} of`,
    noun,
    rest: `from ${shown(change.from)} to ${shown(change.to)}`,
  }
}

function switched(noun: string, on: boolean): string {
  if (noun === 'API key') return on ? 'Reactivated' : 'Revoked'
  return on ? 'Switched on' : 'Switched off'
}

function renamedAlone(noun: string, changes: Changes): Sentence | undefined {
  const change = changes.label ?? changes.name
  return Object.keys(changes).length === 1 && change !== undefined
    ? renaming(noun, change)
    : undefined
}

function renaming(noun: string, { from, to }: Change): Sentence {
  return { verb: 'Renamed', noun, name: String(from), rest: `to “${to}”` }
}

/** A member of a change set as it is called in a sentence. */
const memberWords: Record<string, string> = { expireTime: 'expiry', publicKeyPem: 'key' }

function listed(changes: Changes): string {
  return clausesOf(changes)
    .map(({ text }) => text)
    .join(', ')
}

/** Every member that changed, as a clause such as “role: reader → writer”. */
export function clausesOf(changes: Changes): { member: string; text: string }[] {
  return Object.entries(changes).map(([member, { from, to }]) => {
    const word = memberWords[member] ?? member
    if (from === undefined) return { member, text: `${word}: ${shown(to)}` }
    if (to === undefined) return { member, text: `${word} removed (was ${shown(from)})` }
    return { member, text: `${word}: ${shown(from)} → ${shown(to)}` }
  })
}

/** Times as the reader's own, all else as it is. */
function shown(value: string | number | boolean | undefined): string {
  const text = String(value)
  return /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(text)
    ? new Date(text).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' })
    : text
}

/** What kind of change an event is, for its icon and colour. */
export function toneOf({ type, changes }: Event): 'good' | 'bad' | 'off' | 'plain' {
  if (type === 'key.weakness_found' || type === 'private_key.refused') return 'bad'
  if (type.endsWith('.deleted') || changes?.active?.to === false) return 'off'
  if (type.endsWith('.created') || changes?.active?.to === true) return 'good'
  return 'plain'
}
