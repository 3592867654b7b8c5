import { describe, expect, test } from 'vitest'
import { keyChanges } from '../../../packages/server/src/features/keys/changes.ts'
import { projectChanges } from '../../../packages/server/src/features/projects/changes.ts'
import { startApp } from '../../support/app/app.ts'
import { otherOrigin } from '../../support/app/event-streams.ts'
import { fetchJwks, heldRequests, kidsOf, newProject, registerKey } from '../../support/app/keys.ts'
import { openTestStore } from '../../support/store/store.ts'
import { expectWithin } from '../../support/timing.ts'

/** The server looks for changes of other processes once this is resolved. */
let mayLook: Promise<void> | undefined

const stored = await openTestStore()
const followHeads = () => {
  const follower = stored.store.followHeads()
  const read = async () => {
    await mayLook
    return follower.read()
  }
  return { ...follower, read }
}
const store = { ...stored.store, followHeads }
const server = await startApp({ http: { metrics: true }, stored: { ...stored, store } })
const base = await server.listen()

let projects = 0
/** Two projects with a key each; the second is to take the name of the first. */
async function twoProjects() {
  projects += 1
  const first = await newProject(server, `first-${projects}`)
  const second = await newProject(server, `second-${projects}`)
  const firstKid = await registerKey(server, {}, first.keys)
  const secondKid = await registerKey(server, {}, second.keys)
  const etag = String((await fetchJwks(server, {}, first.jwks)).headers.etag)
  return { first, second, firstKid, secondKid, etag }
}

const ask = (url: string, etag: string) =>
  fetch(base + url, { headers: { 'if-none-match': etag, prefer: 'wait=60' } })

/** Resolves with the future answer once the server holds the request. */
async function hold(url: string, etag: string): Promise<{ answer: Promise<Response> }> {
  const before = Number(await heldRequests(server))
  const answer = ask(url, etag)
  await expect.poll(() => heldRequests(server)).toBe(before + 1)
  return { answer }
}

/** Changes made directly in the store, as by another process. */
const renameElsewhere = (projectId: string, name: string) =>
  server.context.store.commit(projectChanges.renameProject, {
    origin: otherOrigin(),
    projectId,
    name,
    release: true,
  })
const deleteElsewhere = async (projectId: string, kid: string) => {
  const limits = { maxKeys: 50, maxJwksBytes: 51_200 }
  const change = { origin: otherOrigin(), projectId }
  const patch = { active: false }
  await server.context.store.commit(keyChanges.updateKey, { ...change, kid, patch, limits })
  await server.context.store.commit(keyChanges.deleteKey, { ...change, kid })
  await server.context.store.commit(projectChanges.deleteProject, change)
}

/**
 * Makes changes that the server sees together: between a renaming and the next a plain GET by the old
 * name is a 404.
 */
async function together(change: () => Promise<unknown>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  mayLook = promise
  await change()
  resolve()
}

/** The answer, which must come within a second. */
async function soon(held: { answer: Promise<Response> }): Promise<Response> {
  const began = performance.now()
  const answer = await held.answer
  expectWithin(1_000, performance.now() - began)
  return answer
}

describe('a request held by a project’s name', () => {
  test.each([
    ['a renaming', (id: string, name: string, _kid: string) => renameElsewhere(id, `${name}-old`)],
    ['a deletion', (id: string, _name: string, kid: string) => deleteElsewhere(id, kid)],
  ])('gets the key set of another project that takes the name after %s', async (_, giveUp) => {
    const { first, second, firstKid, secondKid, etag } = await twoProjects()
    const held = await hold(first.jwks, etag)
    await together(async () => {
      await giveUp(first.id, first.name, firstKid)
      await renameElsewhere(second.id, first.name)
    })
    const answer = await soon(held)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('preference-applied')).toBe('wait=60')
    expect(kidsOf(await answer.text())).toEqual([secondKid])
  })

  test.each([
    ['another process', (id: string, name: string) => renameElsewhere(id, name)],
    [
      'this process',
      (id: string, name: string) => server.send('PATCH', `/v1/projects/${id}`, { body: { name } }),
    ],
  ])('is 404 once %s has given its project another name', async (_, rename) => {
    const { first, etag } = await twoProjects()
    const held = await hold(first.jwks, etag)
    await rename(first.id, `${first.name}-renamed`)
    expect((await soon(held)).status).toBe(404)
  })

  test('by a name that has changed hands before it arrives gets the new key set', async () => {
    const { first, second, secondKid, etag } = await twoProjects()
    // The name is in the cache, and the documents of its former project are read again.
    await fetchJwks(server, {}, first.jwks)
    await renameElsewhere(first.id, `${first.name}-old`)
    await renameElsewhere(second.id, first.name)
    await registerKey(server, {}, `/v1/projects/${first.id}/jwt-keys`)
    const formerTag = String(
      (await fetchJwks(server, {}, `/v1/projects/${first.id}/.well-known/jwks.json`)).headers.etag,
    )
    for (const tag of [etag, formerTag]) {
      const answer = await soon({ answer: ask(first.jwks, tag) })
      expect([answer.status, kidsOf(await answer.text())]).toEqual([200, [secondKid]])
    }
  })
})

test('a request held by a project’s id outlasts a renaming', async () => {
  const { first, etag } = await twoProjects()
  const held = await hold(`/v1/projects/${first.id}/.well-known/jwks.json`, etag)
  const heldByName = await hold(first.jwks, etag)
  await renameElsewhere(first.id, `${first.name}-renamed`)
  expect((await soon(heldByName)).status).toBe(404)
  expect(await heldRequests(server)).toBe(1)
  const gone = `/v1/projects/${first.id}`
  const [{ id: kid }] = (await server.send('GET', `${gone}/jwt-keys`)).json()
  await server.send('PATCH', `${gone}/jwt-keys/${kid}`, { body: { active: false } })
  expect((await soon(held)).status).toBe(200)
})
