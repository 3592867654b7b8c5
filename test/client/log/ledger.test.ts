import { describe, expect, test } from 'vitest'
import { formatConsistency } from '../../../packages/client/src/log/checkpoint.ts'
import { utf8 } from '../../../packages/client/src/log/encoding.ts'
import {
  type ExportedEvent,
  parseCheckpoint,
  parseLedgerProof,
  scanLog,
  verifyChain,
  verifyCheckpoint,
  verifyLedgerProof,
} from '../../../packages/client/src/log/index.ts'
import { entryKey } from '../../../packages/client/src/log/leaf.ts'
import { formatLedgerProof } from '../../../packages/client/src/log/ledger-proof.ts'
import { parseNote } from '../../../packages/client/src/log/note.ts'
import { eventHash } from '../../../packages/server/src/kernel/ledger/chain.ts'
import { fixture } from '../../support/keys/intake.ts'
import { createMemoryLog } from '../../support/log/memory-log.ts'
import { createSigner, signedNote } from '../../support/log/signers.ts'

const chain: { ledgerId: string; events: Omit<ExportedEvent, 'ledgerId'>[] } = JSON.parse(
  fixture('ledger/chain.json'),
)
const { ledgerId } = chain
const events: ExportedEvent[] = chain.events.map((event) => ({ ...event, ledgerId }))
const time = '2026-01-31T12:00:00.000Z'

const headAt = (revision: number) => ({
  ledgerId,
  revision,
  head: events[revision - 1]?.hash ?? 'f'.repeat(64),
  time,
})

/** A log with heads of this ledger and, around them, of others. */
async function startLog(revisions: readonly number[]) {
  const log = await createMemoryLog()
  const indexes: number[] = []
  for (const revision of revisions) {
    const other = { ledgerId: 'another', revision, head: 'a'.repeat(64), time }
    await log.append(other)
    indexes.push(await log.append(headAt(revision)))
  }
  return { ...log, indexes, keys: { log: log.key } }
}

const rejection = (code: string, message: RegExp) =>
  expect.objectContaining({ code, message: expect.stringMatching(message) })

describe('the proof of a ledger', () => {
  test('shows that the log has its head, and with the key of one entry reveals no other', async () => {
    const log = await startLog([1, 3])
    const { opening: secret, ...proof } = parseLedgerProof(await log.proof(3, headAt(3)))
    expect(proof.head).toEqual(headAt(3))
    const opening = { key: await entryKey(log.blinding, 3) }
    expect(parseLedgerProof(formatLedgerProof({ ...proof, opening }))).toEqual({
      ...proof,
      opening,
    })
    const expected = { origin: 'log.example/log', size: 4 }
    for (const one of [secret, opening]) {
      const verified = verifyLedgerProof({ ...proof, opening: one }, log.keys)
      expect(await verified).toMatchObject(expected)
    }
    const wrong = { ...proof, opening: { key: await entryKey(log.blinding, 1) } }
    await expect(verifyLedgerProof(wrong, log.keys)).rejects.toEqual(rejection('disproved', /./))
  })

  test.each([
    ['of another revision', { revision: 2 }],
    ['of another head', { head: 'b'.repeat(64) }],
    ['of another ledger', { ledgerId: 'another' }],
    ['of another time', { time: '2026-01-31T12:00:00.001Z' }],
  ])('%s is rejected', async (_name, altered) => {
    const log = await startLog([1, 3])
    const text = await log.proof(3, { ...headAt(3), ...altered })
    await expect(verifyLedgerProof(parseLedgerProof(text), log.keys)).rejects.toEqual(
      rejection('disproved', /does not show/),
    )
  })

  test('of another log is rejected, also under the same name', async () => {
    const [log, other] = [await startLog([1, 3]), await startLog([1, 3])]
    const proof = parseLedgerProof(await other.proof(3, headAt(3)))
    await expect(verifyLedgerProof(proof, log.keys)).rejects.toEqual(rejection('untrusted', /./))
    const replaced = parseLedgerProof(await log.proof(3, headAt(3), await other.checkpoint()))
    await expect(verifyLedgerProof(replaced, log.keys)).rejects.toEqual(rejection('untrusted', /./))
  })

  test.each([
    ['a plain tlog-proof', (text: string) => text.replace(/extra .*\n/, '')],
    ['with other data', (text: string) => text.replace(/extra .*/, 'extra AAAA')],
    ['of nothing', () => ''],
  ])('that is %s is rejected', async (_name, alter) => {
    const log = await startLog([1])
    const text = alter(await log.proof(1, headAt(1)))
    expect(() => parseLedgerProof(text)).toThrow(expect.objectContaining({ code: 'malformed' }))
  })
})

describe('a checkpoint', () => {
  test('needs the cosignatures of as many witnesses as are asked for', async () => {
    const log = await startLog([1])
    const witnesses = [
      await createSigner('w1.example', 'cosignature'),
      await createSigner('w2.example', 'cosignature'),
    ] as const
    const note = await log.checkpoint(2, witnesses[0])
    const keys = { ...log.keys, witnesses: witnesses.map(({ key }) => key) }
    expect((await verifyCheckpoint(note, { ...keys, quorum: 1 })).cosignatures).toEqual([
      { name: 'w1.example', time: 1_700_000_000 },
    ])
    await expect(verifyCheckpoint(note, keys)).rejects.toEqual(
      rejection('untrusted', /1 of the trusted witnesses/),
    )
    expect(await verifyCheckpoint(await log.checkpoint(2, ...witnesses), keys)).toMatchObject({
      size: 2,
    })
  })

  test('that only witnesses have signed is rejected', async () => {
    const log = await startLog([1])
    const witness = await createSigner('w1.example', 'cosignature')
    const { text } = parseNote(await log.checkpoint())
    const keys = { ...log.keys, witnesses: [witness.key] }
    await expect(verifyCheckpoint(await signedNote(text, witness), keys)).rejects.toEqual(
      rejection('untrusted', /not signed by log\.example/),
    )
  })

  test('of another origin is rejected, though the key has signed it', async () => {
    const signer = await createSigner('log.example/log')
    const text = `other.example/log\n0\n${'A'.repeat(43)}=\n`
    await expect(
      verifyCheckpoint(await signedNote(text, signer), { log: signer.key }),
    ).rejects.toEqual(rejection('untrusted', /is of other\.example\/log/))
  })
})

describe('the events of an export', () => {
  const verified = (altered: readonly ExportedEvent[]) => verifyChain(headAt(3), altered)

  test('are verified from the first to the last', async () => {
    const last = events.at(-1)
    expect(await verified(events)).toEqual({ revision: last?.revision, hash: last?.hash })
    expect(await verified(events.slice(0, 3))).toEqual({ revision: 3, hash: headAt(3).head })
  })

  test.each<[string, (list: ExportedEvent[]) => unknown[], RegExp]>([
    ['is cut off', (list) => list.slice(0, 2), /events end at 2, and the log has event 3/],
    ['lacks its beginning', (list) => list.slice(1), /event 1 is missing/],
    ['lacks an event', (list) => list.toSpliced(1, 1), /event 2 is missing/],
    [
      'has an event twice',
      (list) => list.toSpliced(1, 0, ...list.slice(0, 1)),
      /has the revision 1/,
    ],
    [
      'has an altered event',
      (list) => list.map((one) => ({ ...one, requestId: 'x' })),
      /event 1 .* was altered or moved/,
    ],
    ['is of another ledger', (list) => list.map((one) => ({ ...one, ledgerId: 'x' })), /not of/],
  ])('are rejected if the export %s', async (_name, alter, message) => {
    await expect(verified(alter([...events]) as ExportedEvent[])).rejects.toEqual(
      rejection('disproved', message),
    )
  })

  test('are rejected if a chain without a break replaced them', async () => {
    let previous = '0'.repeat(64)
    const rewritten = events.map((event) => {
      const content = { ...event, requestId: 'another' }
      previous = eventHash(previous, content as Parameters<typeof eventHash>[1])
      return { ...content, hash: previous }
    })
    await expect(verified(rewritten)).rejects.toEqual(
      rejection('disproved', /event 3 is not the one that was logged/),
    )
    // Only its last event shows it then.
    const head = { ...headAt(events.length), head: previous }
    await expect(verifyChain(head, rewritten)).resolves.toMatchObject({ revision: events.length })
  })

  test('are compared with all heads that a scan has found', async () => {
    const heads = new Map([1, 2, 4].map((revision) => [revision, headAt(revision).head]))
    await expect(verifyChain(headAt(3), events, heads)).resolves.toMatchObject({
      revision: events.length,
    })
    await expect(verifyChain(headAt(3), events.slice(0, 3), heads)).resolves.toMatchObject({
      revision: 3,
    })
    await expect(verifyChain(headAt(3), events, heads.set(2, 'd'.repeat(64)))).rejects.toEqual(
      rejection('disproved', /event 2 is not the one that was logged: the log has the hash dddd/),
    )
  })
})

describe('a scan of the log', () => {
  type Log = Awaited<ReturnType<typeof startLog>>
  async function scan(log: Log, since?: string, read = log.read) {
    const proof = parseLedgerProof(await log.proof(1, headAt(1)))
    const checkpoint = await verifyCheckpoint(await log.checkpoint(), log.keys)
    const older = since === undefined ? [] : [parseCheckpoint(parseNote(since).text)]
    return scanLog(proof, { checkpoint, read, since: older })
  }

  test('finds the heads of the ledger in as many bundles as there are', async () => {
    const log = await startLog([1, 3])
    const other = { ledgerId: 'another', head: 'a'.repeat(64), time }
    for (let revision = 4; revision < 600; revision += 1) await log.append({ ...other, revision })
    await log.append(headAt(4))
    const heads = await scan(log, await log.checkpoint(256))
    expect([...heads]).toEqual([1, 3, 4].map((at) => [at, headAt(at).head]))
  })

  test.each<[string, (log: Log) => unknown, RegExp]>([
    [
      'two contradictory heads',
      (log) => log.append({ ...headAt(3), head: 'c'.repeat(64) }),
      /event 3 .* has two hashes/,
    ],
    ['that the ledger was set back', (log) => log.append(headAt(2)), /event 2 .* follows event 3/],
    [
      'that the log has become shorter',
      (log) => log.entries.pop(),
      /has 3 entries, and an earlier checkpoint 4/,
    ],
    [
      'that entries before an earlier checkpoint were rewritten',
      async (log) => {
        await log.append(headAt(4))
        log.entries[2] = utf8(new TextDecoder().decode(log.entries[2]).replace('2026', '2025'))
      },
      /first 4 entries/,
    ],
  ])('finds %s', async (_name, alter, message) => {
    const log = await startLog([1, 3])
    const since = await log.checkpoint()
    await expect(scan(log, since)).resolves.toBeInstanceOf(Map)
    await alter(log)
    await expect(scan(log, since)).rejects.toEqual(rejection('disproved', message))
  })

  test.each<[string, (bytes: Uint8Array) => Uint8Array, string]>([
    ['cut off', (bytes) => bytes.slice(0, -1), 'malformed'],
    ['short of an entry', (bytes) => bytes.slice(0, bytes.length / 2), 'malformed'],
    [
      'altered',
      (bytes) =>
        Buffer.from(Buffer.from(bytes).toString('latin1').replace('2026', '2025'), 'latin1'),
      'disproved',
    ],
  ])('rejects a bundle that is %s', async (_name, alter, code) => {
    const log = await startLog([1])
    const read = async (path: string) => alter(await log.read(path))
    await expect(scan(log, undefined, read)).rejects.toMatchObject({ code })
  })

  test('needs the blinding value', async () => {
    const log = await startLog([1])
    const proof = parseLedgerProof(await log.proof(1, headAt(1)))
    const opening = { key: await entryKey(log.blinding, 1) }
    const checkpoint = await verifyCheckpoint(await log.checkpoint(), log.keys)
    await expect(
      scanLog({ ...proof, opening }, { checkpoint, read: log.read }),
    ).rejects.toMatchObject({ code: 'malformed' })
  })
})

test('consistency proofs have the format of the body of add-checkpoint', async () => {
  const log = await startLog([1, 3])
  const [hashes, checkpoint] = [await log.consistency(3), await log.checkpoint()]
  const lines = hashes.map((hash) => `${Buffer.from(hash).toString('base64')}\n`)
  expect(formatConsistency({ oldSize: 3, hashes, checkpoint })).toBe(
    `old 3\n${lines.join('')}\n${checkpoint}`,
  )
  expect(formatConsistency({ oldSize: 0, hashes: [], checkpoint })).toBe(`old 0\n\n${checkpoint}`)
})
