import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { apiKeyChanges } from '../../../packages/server/src/features/api-keys/changes.ts'
import {
  endOf,
  otherOrigin,
  startEventStreamApp,
  staysOpen,
} from '../../support/app/event-streams.ts'
import type { EventStream } from '../../support/network/event-stream.ts'

const server = await startEventStreamApp()
afterEach(() => server.closeStreams())
afterAll(() => server.close())

describe('the streams of an API key that loses access are closed within a second', () => {
  async function reader(): Promise<{ reader: EventStream; id: string }> {
    const secret = await server.apiKey('reader')
    const { id } = (
      await server.send('GET', '/v1/api-keys/self', { headers: { 'x-api-key': secret } })
    ).json()
    const opened = await server.open({ 'x-api-key': secret })
    await opened.waitForEvents(1)
    return { reader: opened, id }
  }
  const update = (id: string, patch: { active?: boolean; expireTime?: string }) =>
    server.context.store.commit(apiKeyChanges.updateApiKey, {
      origin: otherOrigin(),
      id,
      patch,
    })

  test('deactivated', async () => {
    const { reader: revoked, id } = await reader()
    const other = await server.open()
    await update(id, { active: false })
    expect(await endOf(revoked)).toBe(false)
    expect(await staysOpen(other)).toBe(true)
  })

  test('deleted', async () => {
    const { reader: revoked, id } = await reader()
    await server.context.store.commit(apiKeyChanges.deleteApiKey, { origin: otherOrigin(), id })
    expect(await endOf(revoked)).toBe(false)
  })

  test('expired at a time that was set during the stream', async () => {
    const { reader: revoked, id } = await reader()
    await update(id, { expireTime: new Date(server.clock.now() + 60_000).toISOString() })
    expect(await staysOpen(revoked)).toBe(true)
    server.clock.advance(60_000)
    expect(await endOf(revoked)).toBe(false)
  })

  test('demoted from admin to reader, for the system ledger', async () => {
    const secret = await server.apiKey('admin')
    const headers = { 'x-api-key': secret }
    const { id } = (await server.send('GET', '/v1/api-keys/self', { headers })).json()
    const [system, project] = [await server.open(headers, '/v1/events'), await server.open(headers)]
    await server.context.store.commit(apiKeyChanges.updateApiKey, {
      origin: otherOrigin(),
      id,
      patch: { role: 'reader' },
    })
    expect(await endOf(system)).toBe(false)
    expect(await staysOpen(project)).toBe(true)
  })
})
