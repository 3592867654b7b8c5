import { describe, expect, test } from 'vitest'
import type { ExportedEvent } from '../../packages/client/src/log/ledger.ts'
import { formatVerifierKey } from '../../packages/client/src/log/note.ts'
import { eventHash } from '../../packages/server/src/kernel/ledger/chain.ts'
import { fixture } from '../support/keys/intake.ts'
import { createMemoryLog } from '../support/log/memory-log.ts'
import { createSigner } from '../support/log/signers.ts'
import { startHttpServer } from '../support/network/http-server.ts'
import { documentOf, openShell } from './support.ts'

const { ledgerId, events }: { ledgerId: string; events: ExportedEvent[] } = JSON.parse(
  fixture('ledger/chain.json'),
)
const time = '2026-01-31T12:00:00.000Z'
const headAt = (revision: number) => ({
  ledgerId,
  revision,
  head: events[revision - 1]?.hash ?? '',
  time,
})
const toLines = (list: readonly object[]) =>
  list.map((event) => `${JSON.stringify({ ledgerId, ...event })}\n`).join('')

const shell = openShell(() => ({}))

const log = await createMemoryLog()
const witness = await createSigner('witness.example/w', 'cosignature')
await log.append({ ...headAt(1), ledgerId: 'another' })
await log.append(headAt(1))
const since = shell.file('old-checkpoint', await log.checkpoint())
await log.append(headAt(3))
const note = await log.checkpoint(3, witness)
shell.file('proof', await log.proof(2, headAt(3), note))
const server = await startHttpServer(async (request, response) => {
  const path = request.url?.replace('/log/', '') ?? ''
  const isCheckpoint = path === 'checkpoint'
  if (!isCheckpoint && !path.startsWith('tile/')) return response.writeHead(404).end()
  return response.end(
    isCheckpoint ? await log.checkpoint(undefined, witness) : await log.read(path),
  )
})

/** `pubring ledger verify` of a file with these lines, in the shell's folder. */
async function verify(list: readonly object[] | string, ...flags: string[]) {
  const file = shell.file('export.jsonl', typeof list === 'string' ? list : toLines(list))
  const proof = flags.includes('--proof') ? [] : ['--proof', `${shell.folder}/proof`]
  const key = flags.includes('--log-key') ? [] : ['--log-key', formatVerifierKey(log.key)]
  return shell.pubring(['ledger', 'verify', '--file', file, ...proof, ...key, ...flags])
}

const whole = `whole   ${ledgerId}  revision ${events.length}  ${events.at(-1)?.hash}\n`

describe('pubring ledger verify --file', () => {
  test('verifies an export without a server or a database', async () => {
    expect(await verify(events)).toEqual({
      code: 0,
      stdout: whole,
      stderr: `The log log.example/log has event 3 since ${time}: entry 2 of 3.
The events after 3 are chained to it, but this proof is older.
`,
    })
  })

  test('prints a document', async () => {
    expect(documentOf(await verify(events.slice(0, 3), '--json'))).toEqual({
      ledger: ledgerId,
      whole: true,
      revision: 3,
      hash: events[2]?.hash,
      logged: { revision: 3, time, index: 2 },
      checkpoint: { origin: 'log.example/log', size: 3, cosignatures: [] },
    })
    expect(documentOf(await verify([], '--json'))).toEqual({
      whole: false,
      broken: {
        code: 'disproved',
        detail:
          'The ledger is not the one that was logged: the events end at 0, and the log has event 3.',
      },
    })
  })

  test('requires the cosignatures of the witnesses that are named', async () => {
    const cosigned = await verify(events, '--witness-key', ` ${formatVerifierKey(witness.key)} `)
    expect(cosigned.stderr).toMatch(/cosigned by witness\.example\/w at 2023-11-14T22:13:20\.000Z/)
    const other = await createSigner('other.example/w', 'cosignature')
    const { code, stdout } = await verify(
      events,
      ...['--witness-key', formatVerifierKey(witness.key), formatVerifierKey(other.key)],
    )
    expect({ code, stdout }).toEqual({
      code: 1,
      stdout: 'BROKEN  1 of the trusted witnesses have cosigned the checkpoint, and 2 must.\n',
    })
  })

  test.each([
    ['was edited', () => toLines(events).replace('"time":"2026', '"time":"2025'), /altered/],
    ['is cut off within a line', () => toLines(events).slice(0, 100), /a line that is not an ev/],
  ])('finds that an export %s', async (_name, list, message) => {
    const { code, stdout } = await verify(list())
    expect({ code, stdout }).toEqual({ code: 1, stdout: expect.stringMatching(message) })
    expect(stdout).toMatch(/^BROKEN {2}/)
  })

  test('finds that the log is another one', async () => {
    const other = await createMemoryLog()
    const key = await verify(events, '--log-key', formatVerifierKey(other.key))
    expect(key).toMatchObject({ code: 1, stdout: expect.stringMatching(/not signed by/) })
  })

  test.each([
    [['--since', 'checkpoint'], 64, /--since needs --log/],
    [['--since', 'none', '--log', 'https://a.test'], 66, /There is no file none/],
    [['--log-key', 'log'], 64, /--log-key: A verifier key has the form/],
    [['--witness-key', 'log'], 64, /--witness-key: A verifier key has the form/],
    [['--proof', 'none'], 66, /There is no file none/],
  ])('fails for %j with exit code %i', async (flags, exitCode, message) => {
    const { code, stdout, stderr } = await verify(events, ...flags)
    expect({ code, stdout }).toEqual({ code: exitCode, stdout: '' })
    expect(stderr).toMatch(message)
  })

  test.each([
    [['--proof', 'proof'], /need --file/],
    [['--file', 'export.jsonl'], /needs --proof/],
    [['--file', 'export.jsonl', '--project', 'payments'], /cannot be used with/],
    [['--file', 'export.jsonl', '--database-url', 'sqlite:./x.db'], /cannot be used with/],
  ])('ignores no flag of %j', async (flags, message) => {
    const { code, stderr } = await shell.pubring(['ledger', 'verify', ...flags])
    expect({ code, stderr }).toEqual({ code: 64, stderr: expect.stringMatching(message) })
  })
})

test('what is rewritten with the stolen key of the log is found by the log, by an earlier checkpoint and by a witness', async () => {
  let previous = '0'.repeat(64)
  const rewritten = events.map((event) => {
    const content = { ...event, requestId: 'forged', ledgerId }
    previous = eventHash(previous, content as Parameters<typeof eventHash>[1])
    return { ...content, hash: previous }
  })
  const forged = await createMemoryLog('log.example/log', log.signer)
  const head = { ...headAt(events.length), head: previous }
  for (const _entry of [1, 2, 3]) await forged.append({ ...head, ledgerId: 'another' })
  const proof = shell.file('forged-proof', await forged.proof(await forged.append(head), head))
  const flags = ['--proof', proof]
  expect(await verify(rewritten, ...flags)).toMatchObject({ code: 0 })
  const witnessKey = formatVerifierKey(witness.key)
  const witnessed = await verify(rewritten, ...flags, '--witness-key', witnessKey)
  expect(witnessed).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/0 of the trusted wit/),
  })
  const published = await verify(rewritten, ...flags, '--log', `${server.url}/log`)
  expect(published).toMatchObject({ code: 1, stdout: expect.stringMatching(/^BROKEN/) })
  const forgery = await startHttpServer(async (request, response) => {
    const path = request.url?.replace('/log/', '') ?? ''
    return response.end(await (path === 'checkpoint' ? forged.checkpoint() : forged.read(path)))
  })
  const stored = await verify(rewritten, ...flags, '--log', `${forgery.url}/log`, '--since', since)
  expect(stored).toMatchObject({ code: 1, stdout: expect.stringMatching(/^BROKEN/) })
})

describe('pubring ledger verify --log', () => {
  test('compares the export with all entries of the log', async () => {
    const { code, stdout, stderr } = await verify(
      events.slice(0, 3),
      ...['--log', `${server.url}/log/`, '--since', since],
    )
    expect({ code, stdout }).toEqual({ code: 1, stdout: expect.stringMatching(/revision 3/) })
    expect(stderr).toMatch(/The key set was not verified: .* responds with status 404\./)
    expect(stderr).toMatch(/It has 2 heads of this ledger, and none contradicts\./)
  })

  test('says that the export is older than the log', async () => {
    await log.append(headAt(4))
    const { stderr } = await verify(events.slice(0, 3), '--log', `${server.url}/log`)
    expect(stderr).toMatch(/Its newest is event 4: export the ledger again/)
    log.entries.pop()
  })

  test('verifies no key set of a project whose deletion is the last event', async () => {
    const [last] = events.slice(-1)
    const content = { ...last, ledgerId, revision: 6, type: 'project.deleted', hash: undefined }
    const hash = eventHash(last?.hash ?? '', content as Parameters<typeof eventHash>[1])
    const deleted = [...events, { ...content, hash }]
    const ran = await verify(deleted, '--log', `${server.url}/log`)
    expect(ran).toMatchObject({ code: 0, stdout: `whole   ${ledgerId}  revision 6  ${hash}\n` })
    expect(ran.stderr).not.toContain('key set')
  })

  test('says that it did not verify the key set if it does not know its address', async () => {
    const { code, stdout, stderr } = await verify(events, '--log', server.url, '--json')
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' })
    const unverified = `its address is unknown: ${server.url} is not …/log.`
    expect(JSON.parse(stdout)).toMatchObject({ whole: true, served: { unverified } })
  })

  test('says that it is broken, and why, if the log has stopped', async () => {
    const detail = 'Part of the log is missing from the database, or was altered.'
    const stopped = await startHttpServer(async (request, response) => {
      if (request.url?.endsWith('/checkpoint')) return response.end(await log.checkpoint())
      return response.writeHead(409).end(JSON.stringify({ code: 'log_stopped', detail }))
    })
    const { code, stdout } = await verify(events, '--log', `${stopped.url}/log`)
    await stopped.close()
    expect([code, stdout]).toEqual([1, `BROKEN  ${detail}\n`])
  })

  test.each([
    ['/other', 6, /answered 404, not checkpoint of a log/],
    ['0/log', 64, /is not an address/],
  ])('fails for an address %s with exit code %i', async (path, exitCode, message) => {
    const { code, stderr } = await verify(events, '--log', `${server.url}${path}`)
    expect({ code, stderr }).toEqual({ code: exitCode, stderr: expect.stringMatching(message) })
  })
})
