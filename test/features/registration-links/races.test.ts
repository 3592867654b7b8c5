import { expect, test } from 'vitest'
import { linkChanges } from '../../../packages/server/src/features/registration-links/changes.ts'
import { maxOpenLinks } from '../../../packages/server/src/features/registration-links/contract.ts'
import { verifyLedgers } from '../../../packages/server/src/kernel/ledger/all-ledgers.ts'
import { openLedgerReader } from '../../../packages/server/src/registry.ts'
import { keysUrl, newProject } from '../../support/app/keys.ts'
import {
  createLink,
  exchange,
  keyBody,
  linksUrl,
  openLink,
  startLinks,
} from '../../support/app/registration-links.ts'
import { linkRecord } from '../../support/store/links.ts'
import { origin } from '../../support/store/store.ts'

const server = await startLinks()

test('of many browsers that open a link at once, one succeeds', async () => {
  const { id, secret } = await createLink(server)
  const answers = await Promise.all(Array.from({ length: 8 }, () => exchange(server, secret)))
  const statuses = answers.map(({ statusCode }) => statusCode)
  expect(statuses.toSorted()).toEqual([201, ...Array(7).fill(404)])
  const opened = (await server.events()).filter(
    ({ type, subject }) => type === 'registration_link.opened' && subject.id === id,
  )
  expect(opened).toHaveLength(1)
})

test('a key is registered before the revocation of its link, or not at all', async () => {
  for (let round = 0; round < 10; round += 1) {
    const { id, secret } = await createLink(server)
    const browser = await openLink(server, secret)
    const [created] = await Promise.all([
      browser.send('POST', keysUrl, keyBody()),
      server.send('DELETE', `${linksUrl}/${id}`),
    ])
    const events = (await server.events()).slice(-2).map(({ type }) => type)
    if (created.statusCode === 201) {
      expect(events).toEqual(['key.created', 'registration_link.revoked'])
    } else {
      expect([created.statusCode, created.json().code]).toEqual([401, 'invalid_session'])
      expect(events.at(-1)).toBe('registration_link.revoked')
    }
  }
})

test('no two requests together exceed the limit of open links', async () => {
  const open = async () => (await server.send('GET', linksUrl)).json().filter(isOpen).length
  const isOpen = ({ state }: { state: string }) => state === 'open'
  for (let left = maxOpenLinks - 1 - (await open()); left > 0; left -= 1) await createLink(server)
  const body = { note: 'ACME' }
  const create = () => server.send('POST', linksUrl, { body })
  const answers = await Promise.all(Array.from({ length: 4 }, create))
  expect(answers.map(({ statusCode }) => statusCode).toSorted()).toEqual([201, 409, 409, 409])
  expect(await open()).toBe(maxOpenLinks)
  const refused = { code: 'link_limit_reached', limit: 100 }
  expect((await create()).json()).toMatchObject(refused)
  // A link that is opened or revoked leaves room.
  const made = answers.find(({ statusCode }) => statusCode === 201)?.json()
  await openLink(server, new URL(made.url).hash.slice(1))
  expect((await create()).statusCode).toBe(201)
  const last = (await server.send('GET', linksUrl)).json().find(isOpen)
  await server.send('DELETE', `${linksUrl}/${last.id}`)
  expect((await create()).statusCode).toBe(201)
  expect((await create()).json()).toMatchObject(refused)
})

test('the open links are listed among all that have ended', async () => {
  const { id: projectId } = await newProject(server, 'busy')
  const url = '/v1/projects/busy/registration-links'
  const first = await createLink(server, { note: 'the first' }, url)
  const made = origin(new Date(server.context.clock.now()).toISOString())
  const end = () => {
    const link = linkRecord(projectId, { expireTime: '2026-01-03T00:00:00.000Z' })
    const change = { origin: made, projectId, id: link.id, link }
    return server.context.store.commit(linkChanges.createLink, change)
  }
  await Promise.all(Array.from({ length: 250 }, end))
  const last = await createLink(server, { note: 'the last' }, url)
  const browser = await openLink(server, last.secret)
  expect(browser.opened.json().note).toBe('the last')
  const listed: { id: string; state: string }[] = (await server.send('GET', url)).json()
  expect(listed.length).toBe(201)
  expect(listed.at(0)).toMatchObject({ id: last.id, state: 'used' })
  expect(listed.at(-1)).toMatchObject({ id: first.id, state: 'open' })
})

test('the tables are what the ledgers say', async () => {
  const url = '/v1/projects/kept/registration-links'
  await newProject(server, 'kept')
  const { secret, id } = await createLink(server, {}, url)
  await openLink(server, secret)
  await server.send('DELETE', `${url}/${id}`)
  const reader = await openLedgerReader(server.database.url)
  const verdicts = await Array.fromAsync(verifyLedgers(reader))
  expect(verdicts.flatMap(({ differences }) => differences)).toEqual([])
  await reader.close()
})
