import type { Event } from '@pubring/client'
import { endOf, localTime } from '../components/text.tsx'
import { nounOf, verbOf } from './types.ts'

type Changes = NonNullable<Event['changes']>
type Change = Changes[string]

/** The parts of a sentence such as: Renamed | key | “spring” | to “summer”. */
export type Sentence = { verb: string; noun: string; name?: string; rest: string }

export type NameOf = (id: string) => string | undefined

/** Describes an event; `name` is that of its subject, and `nameOf` names the keys of a rotation. */
export function sentenceOf(
  event: Event,
  name: string | undefined,
  nameOf: NameOf = () => undefined,
): Sentence {
  const { type, subject } = event
  const { state: _digest, ...changes } = event.changes ?? {}
  const named = name === undefined ? {} : { name }
  const noun = nounOf(subject.type)
  if (type === 'private_key.refused') {
    return { verb: 'Rejected', noun: 'a submitted private key', rest: '' }
  }
  if (type === 'log.started') {
    return { verb: 'Started', noun: 'the log', name: String(changes.origin?.to), rest: '' }
  }
  if (type === 'token.exchanged') {
    return { verb: 'Exchanged', noun: 'a token for an API key', rest: '' }
  }
  if (type === 'key.weakness_found') {
    const isKnown = changes.weaknesses?.to === 'key_known_compromised'
    // An audit finds private keys that were published, too.
    const cause = event.actor.name === 'pubring audit' ? 'is known to others' : 'was submitted here'
    const rest = isKnown
      ? `compromised (its private key ${cause})`
      : `weak (${changeList(changes)})`
    return { verb: 'Found', noun, ...named, rest }
  }
  if (subject.type === 'rotation') return rotationSentence(event, nameOf)
  const [verb, rest = ''] = verbOf(type)?.split(' … ') ?? []
  const renamed = changes.name ?? changes.label
  if (type === 'project.renamed' && renamed !== undefined) return renaming(noun, renamed)
  if (verb !== undefined) return { verb, noun, ...named, rest }
  if (renamed !== undefined && Object.keys(changes).length === 1) return renaming(noun, renamed)
  return { ...updating(noun, changes), ...named }
}

export function sentenceText(event: Event, name: string | undefined): string {
  const { verb, noun, name: named, rest } = sentenceOf(event, name)
  return [verb, noun, named && `“${named}”`, rest].filter(Boolean).join(' ')
}

function rotationSentence({ type, subject, changes = {} }: Event, nameOf: NameOf): Sentence {
  const { from, to, tokenLifetime } = changes
  const [verb = 'Changed', rest] = verbOf(type)?.split(' … ') ?? []
  const label = (kid: string) => nameOf(kid) ?? endOf(kid)
  const name = from?.to === undefined ? nameOf(subject.id) : label(String(from.to))
  const parts = [
    to?.to !== undefined && `to “${label(String(to.to))}”`,
    tokenLifetime?.to !== undefined && `(token lifetime ${tokenLifetime.to} s)`,
    rest,
  ].filter(Boolean)
  const noun = name ? 'rotation of key' : 'the rotation of a key'
  return { verb, noun, ...(name && { name }), rest: parts.join(' ') }
}

function updating(noun: string, changes: Changes): Sentence {
  const { reason, ...rest } = changes
  const ended = rest.active?.to === false && reason?.to
  const [entry, ...others] = Object.entries(ended ? rest : changes)
  if (entry === undefined || others.length > 0) {
    return { verb: 'Changed', noun, rest: changeList(changes) }
  }
  const [member, { from, to }] = entry
  if (member === 'active') {
    return { verb: activationVerb(noun, to === true), noun, rest: ended ? `as ${ended}` : '' }
  }
  if (member === 'expireTime' && to === undefined) {
    return { verb: 'Removed the expiry of', noun, rest: '' }
  }
  if (member === 'expireTime') {
    return { verb: 'Set the expiry of', noun, rest: `to ${format(to)}` }
  }
  return { verb: `Changed the ${member} of`, noun, rest: `from ${format(from)} to ${format(to)}` }
}

function activationVerb(noun: string, active: boolean): string {
  if (noun === 'API key') return active ? 'Reactivated' : 'Revoked'
  return active ? 'Activated' : 'Deactivated'
}

const renaming = (noun: string, { from, to }: Change): Sentence => ({
  verb: 'Renamed',
  noun,
  name: String(from),
  rest: `to “${to}”`,
})

const memberLabels: Record<string, string> = {
  expireTime: 'expiry',
  publicKeyPem: 'key',
  state: 'digest of the stored row',
}

function changeList(changes: Changes): string {
  return changePhrases(changes)
    .map(({ text }) => text)
    .join(', ')
}

export function changePhrases(changes: Changes): { member: string; text: string }[] {
  return Object.entries(changes).map(([member, { from, to }]) => {
    const label = memberLabels[member] ?? member
    if (from === undefined) return { member, text: `${label}: ${format(to)}` }
    if (to === undefined) return { member, text: `${label} removed (was ${format(from)})` }
    return { member, text: `${label}: ${format(from)} → ${format(to)}` }
  })
}

function format(value: string | number | boolean | undefined): string {
  const text = String(value)
  return /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(text) ? localTime(text) : text
}

export function toneOf({ type, changes }: Event): 'added' | 'removed' | 'alarming' | 'neutral' {
  if (type === 'key.weakness_found' || type === 'private_key.refused') return 'alarming'
  if (type.endsWith('.deleted') || changes?.active?.to === false) return 'removed'
  if (type.endsWith('.created') || changes?.active?.to === true) return 'added'
  return 'neutral'
}
