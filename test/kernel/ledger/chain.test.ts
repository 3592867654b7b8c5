import { hash } from 'node:crypto'
import canonicalize from 'canonicalize'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Event } from '../../../packages/server/src/features/events/contract.ts'
import {
  eventHash,
  type LedgerEvent,
  systemLedgerId,
} from '../../../packages/server/src/kernel/ledger/chain.ts'
import { startApp, type TestApp } from '../../support/app/app.ts'
import { fixture } from '../../support/keys/intake.ts'
import { ecKey, privatePem } from '../../support/keys/pem.ts'

const genesis = '0'.repeat(64)

/** The hashes by docs/ledger.md and an independent implementation of RFC 8785. */
function recomputed(ledgerId: string, events: readonly Omit<LedgerEvent, 'ledgerId'>[]): string[] {
  let previous = genesis
  return events.map(({ hash: _hash, label: _label, published, ...content }) => {
    const digest = hash('sha256', `${canonicalize({ ...content, ledgerId })}`)
    previous = hash('sha256', `${previous}\n${digest}\n${canonicalize(published) ?? ''}`)
    return previous
  })
}

describe('a recorded ledger', () => {
  const chain: { ledgerId: string; events: LedgerEvent[] } = JSON.parse(
    fixture('ledger/chain.json'),
  )
  const hashes = chain.events.map((event) => event.hash)

  test('has the hashes of RFC 8785 and SHA-256', () => {
    expect(recomputed(chain.ledgerId, chain.events)).toEqual(hashes)
  })

  test('keeps its hashes, in any order of members', () => {
    let previous = genesis
    for (const { hash: expected, ...content } of chain.events) {
      const event = { ...content, ledgerId: chain.ledgerId }
      expect(eventHash(previous, event)).toBe(expected)
      expect(eventHash(previous, reversed(event))).toBe(expected)
      previous = expected
    }
  })
})

/** The value with the members of all objects in reverse order. */
function reversed<Value>(value: Value): Value {
  return JSON.parse(JSON.stringify(value), (_name, member: unknown) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).reverse())
      : member,
  )
}

describe('the events of a server', () => {
  let app: TestApp
  beforeAll(async () => {
    app = await startApp()
  })

  test('can be verified from the API', async () => {
    const keys = '/v1/projects/payments/jwt-keys'
    const post = (body: object) => app.send('POST', keys, { body })
    const created = await post({
      name: 'ключ 🔑 "é" \\ \u2028 ﬀ',
      algorithm: 'ES256',
      publicKeyPem: ecKey().publicKeyPem,
      expireTime: '2999-01-01T00:00:00Z',
    })
    const address = `${keys}/${created.json().kid}`
    await app.send('PATCH', address, { body: { active: false, expireTime: null } })
    await app.send('PATCH', address, { body: { label: '\ud83d\udd11 \ufb00 z' } })
    await app.send('DELETE', address)
    await post({ name: 'n', algorithm: 'ES256', publicKeyPem: privatePem(ecKey()) })
    await app.send('PATCH', '/v1/projects/payments', { body: { name: 'billing' } })
    for (const [ledgerId, url] of [
      [app.project.id, `/v1/projects/${app.project.id}/events`],
      [systemLedgerId, '/v1/events'],
    ] as const) {
      const events: Event[] = (await app.send('GET', url)).json()
      expect(events.length).toBeGreaterThan(2)
      expect(events.map((event) => event.hash)).toEqual(recomputed(ledgerId, events))
    }
  })
})
