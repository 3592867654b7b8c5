import { expect, test } from 'vitest'
import { genesisHash } from '../../../packages/client/src/log/chain.ts'
import { projectChanges } from '../../../packages/server/src/features/projects/changes.ts'
import {
  type Actor,
  type EventContent,
  eventHash,
} from '../../../packages/server/src/kernel/ledger/chain.ts'
import { readEvents } from '../../../packages/server/src/kernel/ledger/event-reads.ts'
import { newId } from '../../../packages/server/src/kernel/values/ids.ts'
import { openTestStore, origin } from '../../support/store/store.ts'

const opened = await openTestStore()

const issuer = 'https://login.example.com'
type Case = [string, Actor]
const actors: Case[] = [
  ['an API key', { apiKeyId: newId(), name: 'deploy' }],
  ['a JWT key', { name: 'orders', jwtKeyId: newId() }],
  ['a command', { name: 'pubring restore' }],
  ['a person', { name: '', user: { issuer, subject: '248289761001', sessionId: newId() } }],
  [
    'a workload',
    {
      name: 'releases of acme/api',
      apiKeyId: newId(),
      workload: { ruleId: newId(), issuer, subject: 'repo:acme/api:ref:refs/heads/main' },
    },
  ],
]

const content: Omit<EventContent, 'actor'> = {
  ledgerId: newId(),
  revision: 1,
  type: 'project.created',
  time: '2026-01-02T03:04:05.678Z',
  subject: { type: 'project', id: newId() },
  requestId: newId(),
}

test.each(actors)('%s is stored and read back as the actor of an event', async (_title, actor) => {
  const { store } = opened
  const id = newId()
  const name = `p${id.replaceAll('-', '')}`
  await store.commit(projectChanges.createProject, { origin: { ...origin(), actor }, id, name })
  const [event] = await readEvents(store.reader, id, { after: 0, limit: 1 })
  // No person with this identity is in the list of people, which has the names.
  expect(event?.actor).toEqual({ ...actor, name: actor.user?.subject ?? actor.name })
  expect(event?.hash).toBe(event && eventHash(genesisHash, event))
})

test('the name of a person is not part of the chain, and everything else of an actor is', () => {
  const hashOf = (actor: Actor) => eventHash(genesisHash, { ...content, actor })
  const [[, apiKey], [, jwtKey], , [, person], [, workload]] = actors as [
    Case,
    Case,
    Case,
    Case,
    Case,
  ]
  expect(hashOf({ ...person, name: 'Ada Lovelace' })).toBe(hashOf(person))
  expect(hashOf({ ...apiKey, name: 'other' })).not.toBe(hashOf(apiKey))
  expect(hashOf({ ...workload, name: 'other' })).not.toBe(hashOf(workload))
  expect(hashOf({ ...jwtKey, jwtKeyId: newId() })).not.toBe(hashOf(jwtKey))
  const other = { issuer, subject: '2', sessionId: person.user?.sessionId ?? '' }
  expect(hashOf({ name: '', user: other })).not.toBe(hashOf(person))
})
