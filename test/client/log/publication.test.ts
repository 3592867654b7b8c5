import { hash } from 'node:crypto'
import { expect, test } from 'vitest'
import {
  type ExportedEvent,
  type Publication,
  parseLedgerProof,
  verifyPublication,
} from '../../../packages/client/src/log/index.ts'
import { formatLedgerProof } from '../../../packages/client/src/log/ledger-proof.ts'
import {
  contentDigest,
  type LedgerEvent,
} from '../../../packages/server/src/kernel/ledger/chain.ts'
import { fixture } from '../../support/keys/intake.ts'
import { createMemoryLog, headOf } from '../../support/log/memory-log.ts'

/** The example of docs/ledger.md: the second event creates a key. */
const { ledgerId, events }: { ledgerId: string; events: (ExportedEvent & LedgerEvent)[] } =
  JSON.parse(fixture('ledger/chain.json'))
const [first, event] = events
const head = { ledgerId, revision: 2, head: event?.hash ?? '', time: '2026-01-31T12:00:00.000Z' }
const key = {
  alg: 'ES256',
  expireTime: '2027-01-01T00:00:00.000Z',
  kid: '019ac8f2-7a10-7e42-9d3c-0b6f5a1c8e24',
  thumbprint: 'Dz0CJBXJFGdLY1D1W__Q4DlgA-MC7KhHhIUDnIQb9js',
}
const publication: Publication = {
  previous: first?.hash ?? '',
  contentDigest: event ? contentDigest({ ...event, ledgerId }) : '',
  published: { ...event?.published },
  list: JSON.stringify([key]),
}

test('a public proof tells the keys that the event published', async () => {
  const log = await createMemoryLog()
  await log.append(head)
  const proof = parseLedgerProof(await log.proof(0, head))
  const parsed = parseLedgerProof(formatLedgerProof({ ...proof, publication }))
  expect(parsed).toEqual({ ...proof, publication })
  expect(await verifyPublication(head, parsed.publication)).toEqual([key])
})

test.each<[string, Publication | undefined]>([
  ['has other digests', { ...publication, published: { ...publication.published, list: 'x' } }],
  ['has none', { previous: publication.previous, contentDigest: publication.contentDigest }],
  ['has another content', { ...publication, contentDigest: 'a'.repeat(64) }],
  ['follows another event', { ...publication, previous: 'a'.repeat(64) }],
  [
    'moves the parts',
    {
      ...publication,
      previous: `${publication.previous}\n${publication.contentDigest}`,
      contentDigest: '',
    },
  ],
  ['has another list', { ...publication, list: JSON.stringify([{ ...key, kid: 'foreign' }]) }],
  ['says nothing', undefined],
])('a proof that %s is rejected', async (_name, altered) => {
  await expect(verifyPublication(head, altered)).rejects.toMatchObject({ code: 'disproved' })
})

test.each([
  undefined,
  'null',
  '[null]',
  '[{"kid":"a","alg":"ES256"}]',
  JSON.stringify([key, { ...key, expireTime: 1 }]),
])('a proof with %s as its list says that it has none', async (list) => {
  const { list: _, ...without } = publication
  const digest = hash('sha256', list ?? '', 'base64url')
  const altered = { ...without, published: { list: digest }, ...(list !== undefined && { list }) }
  const hashed = { ...head, head: headOf(altered) }
  await expect(verifyPublication(hashed, altered)).rejects.toMatchObject({ code: 'malformed' })
})
