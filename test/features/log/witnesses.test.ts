import { afterEach, expect, test } from 'vitest'
import { formatNote, parseNote, verifyNote } from '../../../packages/client/src/log/note.ts'
import { createWitnesses } from '../../../packages/server/src/features/log/witnesses.ts'
import { createMemoryLog } from '../../support/log/memory-log.ts'
import { createSigner } from '../../support/log/signers.ts'
import { startWitness } from '../../support/log/witness.ts'

const running: { close(): Promise<void> }[] = []
afterEach(async () => {
  await Promise.all(running.splice(0).map((one) => one.close()))
})

const head = { ledgerId: 'a', head: 'a'.repeat(64), time: '2026-01-31T12:00:00.000Z' }

/** A log of some entries, and a witness of it. */
async function start(entries = 3, timeoutMs = 10_000) {
  const log = await createMemoryLog()
  for (let revision = 1; revision <= entries; revision += 1) await log.append({ ...head, revision })
  const witness = await startWitness(log.key)
  running.push(witness)
  const fetch = witness.fetchWith({ timeoutMs })
  const witnesses = createWitnesses([witness.witness], fetch)
  const proofFrom = (older: number) => log.consistency(older)
  /** A checkpoint, as this process would submit it. */
  const submissionOf = (note: string, signedSize = log.entries.length) => ({
    note,
    proofFrom,
    signedSize: () => signedSize,
  })
  /** Submits the current checkpoint to the witness, and returns the result. */
  const submit = async (target = witnesses) => {
    const note = await target.cosign(submissionOf(await log.checkpoint()), 0).catch((error) => {
      expect(error).toMatchObject({ code: 'log_stopped' })
    })
    const [result] = target.results()
    if (result?.outcome === 'contradicted') expect(note).toBe(undefined)
    else
      expect(parseNote(note ?? '').signatures).toHaveLength(result?.outcome === 'cosigned' ? 2 : 1)
    return result
  }
  return { log, witness, fetch, witnesses, submit, submissionOf }
}

test('a witness cosigns each checkpoint, with a proof from the one that it had last', async () => {
  const { log, witness, fetch, witnesses, submit } = await start()
  /** A process that starts, and the one before it, learn the size that the witness knows. */
  const another = createWitnesses([witness.witness], fetch)
  for (const [revision, process] of [witnesses, witnesses, another, witnesses].entries()) {
    const result = await submit(process)
    const { text } = parseNote(await log.checkpoint())
    const line = result?.outcome === 'cosigned' ? result.line : ''
    const note = parseNote(formatNote(text, [line]))
    expect(await verifyNote(note, [witness.witness.key])).toHaveLength(1)
    await log.append({ ...head, revision })
  }
  const sizes = witness.state.bodies.map((body) => body.split('\n')[0])
  expect(sizes).toEqual(['old 0', 'old 3', 'old 0', 'old 4', 'old 4', 'old 5'])
})

test('a witness that knows a later checkpoint contradicts, again and again', async () => {
  const { log, submit } = await start(5)
  await submit()
  log.entries.pop()
  const contradiction = {
    outcome: 'contradicted',
    reason: 'it has cosigned a tree of 5 entries, and this one has 4',
  }
  expect(await submit()).toMatchObject(contradiction)
  expect(await submit()).toMatchObject(contradiction)
})

test.each([4, 5])('a witness of another tree contradicts one of %i entries', async (size) => {
  const { log, witness, fetch, submit } = await start(4)
  await submit()
  log.entries[1] = log.entries[0] ?? new Uint8Array()
  if (size > 4) await log.append({ ...head, revision: 5 })
  const reason = expect.stringMatching(/does not extend the one of 4 entries/)
  const contradiction = { outcome: 'contradicted', reason }
  expect(await submit()).toMatchObject(contradiction)
  expect(await submit(createWitnesses([witness.witness], fetch))).toMatchObject(contradiction)
})

test.each([
  ['knows no such log', { status: 404, body: 'unknown\n' }, /404 \(unknown\); has its oper/],
  ['rejects the key', { status: 403, body: 'invalid signature\n' }, /403 .* `pubring log key`/],
  ['fails', { status: 500, body: 'x'.repeat(1000) }, /status 500 \(x{100}\)$/],
  ['names no size', { status: 409, body: 'many\n' }, /not a whole number/],
  ['always names another size', { status: 409, body: '2\n' }, /another size at each request/],
  ['cosigns with no signature', { status: 200, body: '\n' }, /not a signed note/],
  ['does not answer', 'never' as const, /within 2 seconds/],
  ['rejects a proof from nothing', { status: 422, body: '' }, /status 422/],
])('a witness that %s has failed', async (_name, response, reason) => {
  const { witness, submit } = await start(3, response === 'never' ? 2_000 : 10_000)
  witness.state.respond = () => response
  expect(await submit()).toEqual({
    name: 'witness.test/w',
    outcome: 'failed',
    reason: expect.stringMatching(reason),
  })
  delete witness.state.respond
  expect(await submit()).toMatchObject({ outcome: 'cosigned' })
})

test('a signature of another key, or for another checkpoint, is no cosignature', async () => {
  const { log, witness, submit } = await start()
  const { text } = parseNote(await log.checkpoint())
  const other = await createSigner('witness.test/w', 'cosignature')
  const forged = [await other.sign(text, 1), await witness.signer.sign(`${text}x\n`, 1)]
  for (const line of forged) {
    witness.state.respond = () => ({ status: 200, body: `${line}\n` })
    expect(await submit()).toMatchObject({ outcome: 'failed' })
  }
})

test('a witness that is away keeps no other from cosigning, and is asked again', async () => {
  const { log, witness, fetch, submissionOf } = await start()
  const away = await startWitness(log.key, 'away.test')
  running.push(away)
  away.state.respond = () => ({ status: 503, body: '' })
  const urls = [witness.witness, { ...away.witness, url: away.witness.url }]
  const both = createWitnesses(urls, (url, init) =>
    String(url).includes('away') ? away.fetchWith()(url, init) : fetch(url, init),
  )
  const note = await both.cosign(submissionOf(await log.checkpoint()), 0)
  expect(both.results().map(({ outcome }) => outcome)).toEqual(['cosigned', 'failed'])
  delete away.state.respond
  const complete = await both.cosign(submissionOf(note), 0)
  expect(parseNote(complete).signatures).toHaveLength(3)
  expect(await both.cosign(submissionOf(complete), 0)).toBe(complete)
  expect(witness.state.bodies).toHaveLength(1)
  const keys = [log.key, witness.witness.key, away.witness.key]
  expect(await verifyNote(parseNote(complete), keys)).toHaveLength(3)
})

test('before the first signature, what a witness knows is compared once', async () => {
  const { log, witness, fetch, submit, submissionOf } = await start(5)
  await submit()
  const another = createWitnesses([witness.witness], fetch)
  const earlier = witness.state.bodies.length
  await another.confirm(submissionOf(await log.checkpoint()))
  await another.confirm(submissionOf(await log.checkpoint()))
  expect(witness.state.bodies).toHaveLength(earlier + 2)

  log.entries.pop()
  const restored = createWitnesses([witness.witness], fetch)
  for (const _attempt of [1, 2]) {
    await expect(restored.confirm(submissionOf(await log.checkpoint()))).rejects.toMatchObject({
      code: 'log_stopped',
    })
  }
  expect(restored.results()).toMatchObject([{ outcome: 'contradicted' }])
})

test('a checkpoint that another process with the key has overtaken is no contradiction', async () => {
  const { log, witness, fetch, submit, submissionOf } = await start(5)
  await submit()
  const another = createWitnesses([witness.witness], fetch)
  const overtaken = await log.checkpoint(4)
  expect(await another.cosign(submissionOf(overtaken, 5), 0)).toBe(overtaken)
  expect(another.results()).toMatchObject([{ outcome: 'failed' }])
  await expect(another.cosign(submissionOf(overtaken, 4), 0)).rejects.toMatchObject({
    code: 'log_stopped',
  })
})

test('a witness of one tree is not asked about it for another', async () => {
  const { log, witness, fetch, submit, witnesses } = await start(5)
  await submit()
  const next = await createMemoryLog('log.example/log/2')
  await next.append({ ...head, revision: 1 })
  const note = await next.checkpoint()
  const proofFrom = (older: number) => next.consistency(older)
  await witnesses.cosign({ note, proofFrom, signedSize: () => 1 }, 0)
  expect(witness.state.bodies.at(-1)).toMatch(/^old 0\n/)
  expect(witnesses.results()).toMatchObject([{ outcome: 'failed' }])
  expect(log.entries).toHaveLength(5)
  expect(createWitnesses([], fetch).results()).toEqual([])
})
