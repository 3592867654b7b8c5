import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { accessRuleChanges } from '../../../packages/server/src/features/access-rules/changes.ts'
import { verifyLedgers } from '../../../packages/server/src/kernel/ledger/all-ledgers.ts'
import { newId } from '../../../packages/server/src/kernel/values/ids.ts'
import { openLedgerReader } from '../../../packages/server/src/registry.ts'
import { startApp, type TestApp } from '../../support/app/app.ts'
import { createPersonSession, ruleRecord } from '../../support/store/sessions.ts'
import { origin } from '../../support/store/store.ts'

type SignedIn = Awaited<ReturnType<typeof createPersonSession>>

let server: TestApp
let ada: SignedIn
let bob: SignedIn
beforeAll(async () => {
  server = await startApp()
  const rule = ruleRecord()
  await server.context.store.commit(accessRuleChanges.createAccessRule, { origin: origin(), rule })
})
beforeEach(async () => {
  ada = await createPersonSession(server.context.store, {}, { name: 'Ada' })
  bob = await createPersonSession(server.context.store, {}, { name: 'Bob' })
})

const alterations: Record<string, () => Promise<unknown>> = {
  'the id of a person': () => setId(ada.person.id, newId()),
  async 'the ids of two people, swapped'() {
    const free = newId()
    await setId(ada.person.id, free)
    await setId(bob.person.id, ada.person.id)
    await setId(free, bob.person.id)
  },
  'the subject of a person': () =>
    server.database.execute('update person set subject = ? where id = ?', newId(), ada.person.id),
}

const setId = (from: string, to: string) =>
  server.database.execute('update person set id = ? where id = ?', to, from)

/** The id that the list of people has for a person of this name who began a session here. */
async function shownId({ person }: SignedIn): Promise<string> {
  const shown: SignedIn['person'][] = (await server.send('GET', '/v1/people')).json()
  const bySubject = shown.find(({ subject }) => subject === person.subject)
  return bySubject?.id ?? person.id
}

const isLive = async ({ session }: SignedIn) =>
  (await server.database.query('select id from session where id = ?', session.id)).length === 1

describe.each(Object.entries(alterations))('with %s altered', (_name, alter) => {
  test('verification names the person, and events do not show a wrong name', async () => {
    await alter()
    const ledgers = await openLedgerReader(server.database.url)
    const [system] = await Array.fromAsync(verifyLedgers(ledgers))
    await ledgers.close()
    expect(system?.differences).toContainEqual(
      expect.objectContaining({ subject: { type: 'person', id: ada.person.id } }),
    )
    const url = `/v1/history?person=${ada.person.id}`
    expect((await server.send('GET', url)).json()).toEqual([])
  })

  test.each([
    ['ending the sessions of the person', (id: string) => `/v1/sessions?person=${id}`],
    ['erasing the person', (id: string) => `/v1/people/${id}`],
  ])('%s ends theirs, and no others', async (_act, urlOf) => {
    await alter()
    const sent = await server.send('DELETE', urlOf(await shownId(ada)))
    expect(sent.statusCode, sent.body).toBe(204)
    expect([await isLive(ada), await isLive(bob)]).toEqual([false, true])
  })
})
