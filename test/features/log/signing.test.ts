import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import {
  type Bytes,
  concatBytes,
  fromBase64,
  toBase64,
  utf8,
} from '../../../packages/client/src/log/encoding.ts'
import {
  consistencyProof,
  createTileReader,
  formatTilePath,
  formatVerifierKey,
  leafHash,
  parseEntries,
  parseLedgerProof,
  parseVerifierKey,
  scanLog,
  treeRoot,
  verifyCheckpoint,
  verifyConsistency,
  verifyLast,
  verifyLedgerProof,
  verifyPublication,
} from '../../../packages/client/src/log/index.ts'
import {
  entryKey,
  type HeadsEntry,
  type LogEntry,
  parseEntry,
} from '../../../packages/client/src/log/leaf.ts'
import { accessRuleChanges } from '../../../packages/server/src/features/access-rules/changes.ts'
import { keyChanges } from '../../../packages/server/src/features/keys/changes.ts'
import type { LogTree } from '../../../packages/server/src/features/log/changes.ts'
import { findHeads } from '../../../packages/server/src/features/log/last-heads/heads.ts'
import { createLog, type LogState } from '../../../packages/server/src/features/log/log.ts'
import { proveHead, proveLedger } from '../../../packages/server/src/features/log/proofs.ts'
import { readTiles, readTree } from '../../../packages/server/src/features/log/reads.ts'
import {
  logId,
  logOrigin,
  logVerifierKey,
  readCheckpoint,
  restartLog,
  signCheckpoint,
} from '../../../packages/server/src/features/log/signing.ts'
import { readLogFile } from '../../../packages/server/src/features/log/tiles.ts'
import { projectChanges } from '../../../packages/server/src/features/projects/changes.ts'
import { exchangeChanges } from '../../../packages/server/src/features/token-exchange/changes.ts'
import type { LogSigner, Store } from '../../../packages/server/src/kernel/context.ts'
import { verifyLedgers } from '../../../packages/server/src/kernel/ledger/all-ledgers.ts'
import {
  exchangeLedgerId,
  systemLedgerId,
} from '../../../packages/server/src/kernel/ledger/chain.ts'
import { readEvents } from '../../../packages/server/src/kernel/ledger/event-reads.ts'
import { openLedgerReader } from '../../../packages/server/src/registry.ts'
import { testClock } from '../../support/app/clock.ts'
import { createKeyFile, type TestKeyFile } from '../../support/log/key-file.ts'
import { type NaiveLeaf, naiveLeaf, naiveRoot } from '../../support/log/naive-map.ts'
import { accessRuleRecord, exchangedKeyRecord } from '../../support/store/access-records.ts'
import { createDatabase, type TestDatabase } from '../../support/store/database.ts'
import { keyImport, keyRecord } from '../../support/store/key-records.ts'
import { createProject, openTestStore, origin, type TestStore } from '../../support/store/store.ts'

let stored: TestStore
let key: TestKeyFile
beforeEach(async () => {
  stored = await openTestStore()
  key = createKeyFile()
})

const clock = testClock()
const publicUrl = 'https://keys.example.com/base'
const contextOf = (store: Store) => ({
  store,
  clock,
  config: { publicUrl },
})

const sign = (store = stored.store, signer: LogSigner = key.open(), minAgeMs = 0) =>
  signCheckpoint(contextOf(store), signer, { minAgeMs })

/** As an admin does. */
const restart = (store = stored.store) => restartLog(contextOf(store), key.open(), origin())

/** The store, with a step before and after each commit. */
function storeWith(
  step: (commit: { type: string; isRoot: boolean; isDone: boolean }) => Promise<unknown>,
): Store {
  const { store } = stored
  return {
    ...store,
    async commit(kind, change) {
      const commit = { type: kind.type, isRoot: 'heads' in change && change.heads !== undefined }
      await step({ ...commit, isDone: false })
      const result = await store.commit(kind, change)
      await step({ ...commit, isDone: true })
      return result
    },
  }
}

const ownOrigin = () => logOrigin(publicUrl, key.open())

const stopped = (code: string) =>
  expect.objectContaining({
    code: 'log_stopped',
    extras: { errors: [expect.objectContaining({ code })] },
  })

/** The last event of the system's ledger. */
const lastEvent = async (store = stored.store) =>
  (await readEvents(store.reader, systemLedgerId, { after: 0, limit: 20 })).at(-1)

async function rename(projectId: string, name: string, store = stored.store): Promise<void> {
  await store.commit(projectChanges.renameProject, { origin: origin(), projectId, name })
}

/** A checkpoint that its own verifier key verifies. */
async function verified({ checkpoint = '', verifierKey, origin }: LogTree) {
  const found = await verifyCheckpoint(checkpoint, { log: await parseVerifierKey(verifierKey) })
  expect(found.origin).toBe(origin)
  return found
}

const reader =
  (store: Store) =>
  async (path: string): Promise<Bytes> => {
    const tree = await readTree(store.reader)
    const file = tree && (await readLogFile(store.reader, tree, path))
    if (file === undefined) throw new Error(`no ${path}`)
    return Uint8Array.from(file)
  }

/** Reads the log as everyone can, compares it with the checkpoint, and returns the entries of ledgers. */
async function readEntries(store: Store, log: LogTree) {
  const checkpoint = await verified(log)
  const read = reader(store)
  const node = createTileReader(checkpoint.size, (tile) => read(formatTilePath(tile)))
  expect(toBase64(await treeRoot(checkpoint.size, node))).toBe(toBase64(checkpoint.root))
  const entries: (LogEntry | HeadsEntry)[] = []
  for (let index = 0; index * 256 < checkpoint.size; index += 1) {
    const width = Math.min(256, checkpoint.size - index * 256)
    const bundle = await read(formatTilePath({ level: 'entries', index, width }))
    entries.push(...parseEntries(bundle).map(parseEntry))
  }
  expect(entries.at(-1)).toHaveProperty('heads')
  return entries.filter((entry) => 'ledger' in entry)
}

/** A log with the heads of two ledgers, of which one is that of a project. */
async function start(): Promise<{ id: string }> {
  const { id } = await createProject(stored.store, 'payments')
  await sign()
  return { id }
}

test('the heads of all ledgers are logged, and then those that moved', async () => {
  const { store } = stored
  const { id } = await createProject(store, 'payments')
  const first = await sign()
  const { origin, size } = await verified(first)
  expect({ origin, size }).toEqual({ origin: ownOrigin(), size: 3 })
  expect(await lastEvent()).toMatchObject({
    type: 'log.started',
    actor: { name: 'pubring serve' },
    subject: { type: 'registry', id: systemLedgerId },
    changes: { origin: { to: ownOrigin() }, verifierKey: { to: first.verifierKey } },
  })
  const heads = await store.heads([id, systemLedgerId])
  const logged = (await readEntries(store, first)).map(({ head }) => head)
  expect(logged.sort()).toEqual([...heads.values()].map(({ hash }) => hash).sort())

  expect(await sign()).toMatchObject({ checkpoint: first.checkpoint, size: 3 })
  await createProject(store, 'other')
  await rename(id, 'renamed')
  await rename(id, 'again')
  const second = await sign()
  expect(await readEntries(store, second)).toHaveLength(5)
  const [older, newer] = [await verified(first), await verified(second)]
  const node = createTileReader(7, async (tile) => reader(store)(formatTilePath(tile)))
  expect(await verifyConsistency(older, newer, await consistencyProof(3, 7, node))).toBe(true)
})

/** The root of the map of last heads, computed from the entries of ledgers among the first `size`. */
async function rootOfLast(size = Number.MAX_SAFE_INTEGER): Promise<string> {
  const { blindingOf } = key.open()
  const leaves = new Map<string, NaiveLeaf>()
  const rows = await stored.database.query(
    `select ledger_id as id, content from log_entry
      where ledger_id is not null and position < ? order by position`,
    size,
  )
  for (const row of rows) {
    const [id, content] = [String(Object(row).id), utf8(String(Object(row).content))]
    const opening = await entryKey(blindingOf(id), JSON.parse(String(Object(row).content)).revision)
    leaves.set(id, naiveLeaf(id, opening, content))
  }
  return naiveRoot([...leaves.values()]).toString('hex')
}

/** As `pubring check` finds them. */
async function verdicts() {
  const ledgers = await openLedgerReader(stored.database.url)
  const found = await Array.fromAsync(verifyLedgers(ledgers))
  await ledgers.close()
  return found
}

const verifiedTables = async () => (await verdicts()).flatMap(({ differences }) => differences)

/** The last entry of a checkpoint. */
const headsOf = async ({ size }: Pick<LogTree, 'size'>) =>
  (await findHeads(stored.store.reader, size))?.heads

test('each checkpoint ends with the root of the map of all last heads, also after a crash', async () => {
  const { store } = stored
  const { id } = await createProject(store, 'payments')
  const compare = async (log: LogTree) => {
    await readEntries(store, log)
    expect(await headsOf(log)).toBe(await rootOfLast())
  }
  const first = await sign()
  await compare(first)
  const trusted = { log: await parseVerifierKey(first.verifierKey) }
  for (const crash of ['between the heads and the root', 'before the publication'] as const) {
    await createProject(store, crash.replaceAll(' ', '-'))
    const changed = keyRecord(id)
    await store.commit(keyChanges.importKeys, keyImport([changed]))
    const failing = storeWith(async ({ type, isRoot }) => {
      const isReached = crash === 'before the publication' ? type === 'log.publish' : isRoot
      if (isReached) throw new Error('killed')
    })
    await expect(sign(failing)).rejects.toThrow('killed')
    const recorded = key.open().lastSigned(ownOrigin())
    // The published checkpoint keeps its proofs, but not the list of keys: the database has that of the later head.
    const proof = parseLedgerProof(await proveHead(store.reader, id))
    await verifyLast(proof, await verifyLedgerProof(proof, trusted))
    const next = await sign()
    await compare(next)
    if (crash === 'before the publication') expect(next.checkpoint).toBe(recorded)
    const last = parseLedgerProof(await proveHead(store.reader, id))
    await verifyLast(last, await verifyLedgerProof(last, trusted))
    expect(last.head.revision).toBeGreaterThan(proof.head.revision)
    const published = await verifyPublication(last.head, last.publication)
    expect(published.map(({ thumbprint }) => thumbprint)).toContain(changed.thumbprint)
  }
})

test('a proof of each event is valid, and names the ledger', async () => {
  const { store } = stored
  const { id } = await start()
  for (const name of ['b', 'c', 'd']) await rename(id, name)
  const log = await sign()
  const keys = { log: await parseVerifierKey(log.verifierKey) }
  const revisions: number[] = []
  for (const revision of [1, 2, 3, 4, undefined]) {
    const { proof, ...members } = await proveLedger(store.reader, id, revision)
    const parsed = parseLedgerProof(proof)
    await verifyLedgerProof(parsed, keys)
    revisions.push(members.revision)
    expect(parsed.head).toMatchObject({ ledgerId: id, head: members.head })
    const checkpoint = await verified(log)
    const heads = await scanLog(parsed, { checkpoint, read: reader(store) })
    expect([...heads.keys()]).toEqual([1, 4])
  }
  expect(revisions).toEqual([1, 4, 4, 4, 4])
  await expect(proveLedger(store.reader, id, 5)).rejects.toMatchObject({ code: 'not_logged' })
})

test('more ledgers than fit in a page, a tile and a level of tiles', async () => {
  await createProject(stored.store, 'payments')
  const rows = Array.from({ length: 2_600 }, (_, index) => {
    const id = `00000000-0000-7000-8000-${String(index).padStart(12, '0')}`
    return `('${id}', 1, '${'a'.repeat(64)}')`
  })
  await stored.database.execute(
    `insert into ledger (project_id, revision, hash) values ${rows.join()}`,
  )
  const partial = await signCheckpoint(contextOf(stored.store), key.open(), { maxHeads: 1_000 })
  expect(partial).toMatchObject({ isPartial: true, checkpointSize: 1_001 })
  expect(await headsOf(partial)).toBe(await rootOfLast())
  const log = await sign()
  expect(log.size).toBe(2_604)
  expect(await readEntries(stored.store, log)).toHaveLength(2_602)
  expect(await headsOf(log)).toBe(await rootOfLast())
  expect((await sign()).checkpoint).toBe(log.checkpoint)
})

test('at the interval, nothing is appended that soon after something else was', async () => {
  await createProject(stored.store, 'payments')
  const first = await sign()
  await createProject(stored.store, 'other')
  expect(await sign(stored.store, key.open(), 60_000)).toEqual(first)
  clock.advance(61_000)
  expect((await sign(stored.store, key.open(), 60_000)).size).toBe(6)
})

test.each<[string, (notes: { older: string; newer: string }) => string]>([
  ['of an older tree', ({ older }) => older],
  ['with another signature', ({ newer }) => newer.replace(/(?<=— \S+ \S{20})..../, 'AAAA')],
  ['that is no note', () => 'none'],
])('a checkpoint %s that was put into the database is not dated', async (_name, forge) => {
  await start()
  const older = key.open().lastSigned(ownOrigin()) ?? ''
  await createProject(stored.store, 'other')
  const newer = (await sign()).checkpoint ?? ''
  const forged = forge({ older, newer })
  await stored.database.execute('update log_tree set checkpoint = ?', forged)
  clock.advance(60_000)
  const since = Math.floor(clock.now() / 1_000)
  await sign()
  const tree = await readTree(stored.store.reader)
  const { size, date } = await verified(tree ?? expect.fail())
  expect(size).toBe(6)
  expect(date).toBeGreaterThanOrEqual(since)
})

test('tiles are published as far as the checkpoint covers them', async () => {
  await createProject(stored.store, 'payments')
  const tree = await sign()
  const { reader } = stored.store
  expect(tree.origin).toMatch(/^keys\.example\.com\/base\/log\/[0-9a-f]{8}$/)
  for (const path of ['tile/0/000.p/3', 'tile/0/000.p/1', 'tile/entries/000.p/3']) {
    expect(await readLogFile(reader, tree, path), path).toBeDefined()
  }
  const absent = ['tile/0/000.p/4', 'tile/0/000', 'tile/1/000.p/1', 'tile/0/001.p/1', 'tile/x']
  for (const path of absent) expect(await readLogFile(reader, tree, path), path).toBeUndefined()
})

async function firstTile(): Promise<Bytes> {
  const [tile] = await readTiles(stored.store.reader, 0, [0])
  return fromBase64(tile?.hashes ?? '') ?? new Uint8Array()
}

async function putFirstTile(bytes: Bytes): Promise<void> {
  await stored.database.execute('update log_tile set hashes = ? where level = 0', toBase64(bytes))
}

describe('the log never forks', () => {
  /** A database as it was before changes that were logged and signed. */
  async function goBack(): Promise<TestDatabase> {
    const database = await createDatabase()
    const before = await openTestStore(database)
    const { id } = await createProject(before.store, 'payments')
    await sign(before.store)
    await before.dispose()
    const earlier = await database.copy()
    const after = await openTestStore(database)
    await rename(id, 'lost', after.store)
    await sign(after.store)
    await after.dispose()
    return earlier
  }

  test('a restored database or a fail-over that has lost changes stops it, and a new key starts it', async () => {
    const restored = await openTestStore(await goBack())
    const { store } = restored
    await expect(sign(store)).rejects.toEqual(stopped('diverged'))
    // As many entries as were signed, and more.
    for (const name of ['a', 'b', 'c']) await createProject(store, name)
    await expect(sign(store)).rejects.toEqual(stopped('diverged'))
    expect((await readTree(store.reader))?.size).toBe(3)

    await expect(restart(store)).rejects.toEqual(stopped('key_used'))
    const before = { origin: ownOrigin(), id: logId(key.open()) }
    const lost = readCheckpoint(key.open().lastSigned(before.origin) ?? '')
    key.replace()
    await expect(sign(store)).rejects.toEqual(stopped('other_key'))
    expect(await restart(store)).toMatchObject({ origin: ownOrigin(), size: 0 })
    const log = await sign(store)
    expect(await readEntries(store, log)).toHaveLength(5)
    expect(await readTree(store.reader, before.id)).toMatchObject({ nextOrigin: log.origin })
    expect(await lastEvent(store)).toMatchObject({
      type: 'log.started',
      changes: {
        origin: { from: before.origin, to: log.origin },
        size: { from: lost.size },
        hash: { from: Buffer.from(lost.root).toString('hex') },
      },
    })
  })

  test('a database that has lost the whole log stops it', async () => {
    const { database } = stored
    await start()
    await database.execute('delete from log_tree')
    await expect(sign()).rejects.toEqual(stopped('diverged'))
    const fresh = await openTestStore()
    await createProject(fresh.store, 'other')
    const origins = [ownOrigin()]
    for (const reason of ['diverged', 'diverged']) {
      await expect(sign(fresh.store)).rejects.toEqual(stopped(reason))
      // A new key alone does not start one: the event has to name the tree that ends.
      key.replace()
    }
    origins.push((await restart(fresh.store)).origin)
    const event = await lastEvent(fresh.store)
    expect(event?.changes?.origin).toEqual({ from: origins[0], to: origins[1] })
    expect((await sign(fresh.store)).origin).toBe(origins[1])
  })

  test.each([
    ['that the key would have', publicUrl],
    ['of another name', 'https://evil.example'],
  ])('a tree %s that was inserted without an event is not signed', async (_name, url) => {
    const { database } = stored
    const signer = key.open()
    const name = logOrigin(url, signer)
    const vkey = formatVerifierKey(await logVerifierKey(name, signer))
    const columns = 'id, origin, verifier_key, size, checkpoint_size'
    const insert = `insert into log_tree (${columns}) values (?, ?, ?, 0, 0)`
    await database.execute(insert, logId(signer), name, vkey)
    await expect(sign()).rejects.toEqual(stopped('not_recorded'))
    expect(signer.lastSigned(name)).toBeUndefined()
    await expect(restart()).rejects.toEqual(stopped('key_used'))
    key.replace()
    await restart()
    expect(await sign()).toMatchObject({ origin: ownOrigin(), size: 2 })
    expect(await lastEvent()).toMatchObject({ revision: 1, type: 'log.started' })
  })

  test('of two processes that find no tree, one starts it', async () => {
    let other: LogTree | undefined
    const racing = storeWith(async ({ type, isDone }) => {
      if (type === 'log.start' && !isDone) other ??= await sign()
    })
    expect(await sign(racing)).toMatchObject({ checkpoint: other?.checkpoint })
  })

  test('without the file of signed checkpoints it stops', async () => {
    await start()
    const file = `${key.file}.checkpoints`
    renameSync(file, `${file}.old`)
    await expect(sign()).rejects.toEqual(stopped('checkpoints_missing'))
    renameSync(`${file}.old`, file)
    expect((await sign()).checkpointSize).toBe(3)
    writeFileSync(file, '{')
    await expect(sign()).rejects.toThrow('is damaged')
  })

  test('without a place for the signed checkpoints it stops, and publishes none', async () => {
    await createProject(stored.store, 'payments')
    const before = await sign()
    await createProject(stored.store, 'other')
    const cause = new Error('ENOSPC: no space left on device, write')
    const full: LogSigner = {
      ...key.open(),
      record() {
        throw cause
      },
    }
    await expect(sign(stored.store, full)).rejects.toMatchObject({
      code: 'log_stopped',
      extras: { errors: [{ code: 'not_stored' }] },
      cause,
    })
    expect((await readTree(stored.store.reader))?.checkpoint).toBe(before.checkpoint)
  })

  test('a copy of the key that has not signed the last checkpoint leaves it to the other one', async () => {
    await start()
    const copy = createKeyFile()
    for (const end of ['', '.checkpoints']) {
      writeFileSync(`${copy.file}${end}`, readFileSync(`${key.file}${end}`))
    }
    await createProject(stored.store, 'other')
    await sign()
    await expect(sign(stored.store, copy.open())).rejects.toEqual(stopped('other_signer'))
  })

  test('a lost or altered tile stops it', async () => {
    await start()
    const tile = await firstTile()
    const altered = tile.map((byte, index) => (index === 40 ? byte ^ 1 : byte))
    for (const [bytes, code] of [
      [altered, 'diverged'],
      [tile.slice(0, 30), 'damaged'],
    ] as const) {
      await putFirstTile(bytes)
      await expect(sign()).rejects.toEqual(stopped(code))
    }
    await putFirstTile(tile)
    await sign()
  })

  test('processes with one key file sign one tree', async () => {
    const others = await Promise.all([1, 2].map(() => openTestStore(stored.database)))
    const stores = [stored.store, ...others.map(({ store }) => store)]
    await start()
    const signed: string[] = []
    for (let round = 0; round < 6; round += 1) {
      const { id } = await createProject(stored.store, `p-${round}`)
      const runs = await Promise.all(stores.map((store) => sign(store)))
      signed.push(...runs.map(({ checkpoint = '' }) => checkpoint))
      // Every change acknowledged before a run is in its checkpoint.
      const { index } = parseLedgerProof((await proveLedger(stored.store.reader, id, 1)).proof)
      for (const { checkpointSize } of runs) expect(checkpointSize).toBeGreaterThan(index)
    }
    const last = await sign()
    const node = createTileReader(last.size, async (tile) =>
      reader(stored.store)(formatTilePath(tile)),
    )
    for (const note of signed) {
      const older = readCheckpoint(note)
      const proof = await consistencyProof(older.size, last.size, node)
      expect(await verifyConsistency(older, await verified(last), proof)).toBe(true)
      expect(await headsOf(older)).toBe(await rootOfLast(older.size))
    }
    await Promise.all(others.map(({ store }) => store.close()))
  })
})

test('a rewritten ledger is not signed even if its logged head was deleted', async () => {
  const { database } = stored
  const { id } = await start()
  await database.execute('update ledger set hash = ? where project_id = ?', 'f'.repeat(64), id)
  await expect(sign()).rejects.toEqual(stopped('rewritten'))
  await database.execute('delete from log_ledger where ledger_id = ?', id)
  await expect(sign()).rejects.toEqual(stopped('rewritten'))
})

const otherHeads = JSON.stringify({ heads: '0'.repeat(64), time: '2026-01-31T12:00:00.000Z' })

describe('one who can write to the database', () => {
  /** Appends an entry of a log with less than 256, and resolves with its position. */
  async function append(ledgerId: string | null, revision: number | null, content: string) {
    const { store, database } = stored
    const { size = 0 } = (await readTree(store.reader)) ?? {}
    const columns = 'position, ledger_id, revision, content'
    const insert = `insert into log_entry (${columns}) values (?, ?, ?, ?)`
    await database.execute(insert, size, ledgerId, revision, content)
    await putFirstTile(concatBytes(await firstTile(), await leafHash(utf8(content))))
    await database.execute('update log_tree set size = ?', size + 1)
    return size
  }

  test('makes nobody sign another root of the map', async () => {
    const { store, database } = stored
    await start()
    const position = await append(null, null, otherHeads)
    const { size } = await sign()
    for (const [altered, code] of [
      [position, 'damaged'],
      [position + 1, 'damaged'],
      [size + 1, 'other_signer'],
    ] as const) {
      await database.execute('update log_tree set checkpoint_size = ?', altered)
      await expect(sign(), `${altered}`).rejects.toEqual(stopped(code))
    }
    await database.execute('update log_tree set checkpoint_size = ?', size)
    await createProject(store, 'other')
    expect(await headsOf(await sign())).toBe(await rootOfLast())
    expect((await verifiedTables()).map(({ subject }) => subject)).toEqual([
      { type: 'log_entry', id: `${position}` },
    ])
  })

  test('makes nobody sign what is written between the append and the signature', async () => {
    const { store, database } = stored
    await start()
    await createProject(store, 'other')
    const racing = storeWith(async ({ isRoot, isDone }) => {
      if (!isRoot || !isDone) return
      const leaf = await leafHash(utf8(otherHeads))
      await putFirstTile(concatBytes((await firstTile()).slice(0, -32), leaf))
      await database.execute(
        'update log_entry set content = ? where position = (select max(position) from log_entry)',
        otherHeads,
      )
    })
    const before = key.open().lastSigned(ownOrigin())
    await expect(sign(racing)).rejects.toEqual(stopped('damaged'))
    expect(key.open().lastSigned(ownOrigin())).toBe(before)
  })

  test.each<[string, string, (entry: { id: string; content: string }) => Promise<unknown>]>([
    ['an old entry appended again', 'rewritten', ({ id, content }) => append(id, 1, content)],
    [
      'an old entry with a later revision in its row',
      'damaged',
      ({ id, content }) => append(id, 3, content),
    ],
    [
      'an old entry with a later revision',
      'damaged',
      ({ id, content }) => append(id, 3, content.replace('"revision":1', '"revision":3')),
    ],
    [
      'an entry of a ledger in a row of none',
      'damaged',
      ({ content }) => append(null, null, content),
    ],
    ['a root of the map in a row of a ledger', 'damaged', ({ id }) => append(id, 3, otherHeads)],
  ])('makes nobody sign a map with %s', async (_name, code, write) => {
    const { database } = stored
    const { id } = await start()
    await rename(id, 'renamed')
    await sign()
    const query = 'select content from log_entry where ledger_id = ? and revision = 1'
    const [row] = await database.query(query, id)
    await write({ id, content: String(Object(row).content) })
    await expect(sign()).rejects.toEqual(stopped(code))
    expect((await verifiedTables()).map(({ subject }) => subject.type)).toContain('log_entry')
  })
})

test.each<[string, string, readonly string[]]>([
  ['an entry that was deleted', 'log_entry', ['delete from log_entry where position = 1']],
  [
    'an entry that was altered',
    'log_entry',
    ["update log_entry set content = replace(content, 'a', 'b') where position = 1"],
  ],
  [
    'a ledger that was deleted',
    'ledger',
    ['event', 'ledger'].map((name) => `delete from ${name} where project_id = 'ID'`),
  ],
  [
    'a log whose tables were emptied',
    'log_tree',
    ['tree', 'entry', 'tile', 'slot', 'ledger'].map((name) => `delete from log_${name}`),
  ],
])('verification names, and a running signer stops at %s', async (_name, type, statements) => {
  const { store, database } = stored
  const { id } = await createProject(store, 'payments')
  const log = createLog(contextOf(store), key.open())
  await log.sign()
  for (const statement of statements) await database.execute(statement.replace('ID', id))
  await expect(log.sign()).rejects.toMatchObject({ code: 'log_stopped' })
  log.close()
  expect((await verifiedTables()).map(({ subject }) => subject.type)).toContain(type)
})

test.each([
  ['log_slot', "update log_slot set hash = 'AAAA'"],
  ['log_slot', 'delete from log_slot where bucket = (select min(bucket) from log_slot)'],
  ['log_slot', "insert into log_slot (bucket, slot, hash) values (1, 'AAAA', 'AAAA')"],
  ['log_slot', "insert into log_slot (bucket, slot, hash) values (99999, 'AAAA', 'AAAA')"],
  ['log_tile', "update log_tile set hashes = replace(hashes, 'A', 'B') where level = -1"],
  ['log_tile', 'delete from log_tile where level = -2'],
  ['log_tile', "insert into log_tile (level, position, hashes) values (-9, 0, 'AAAA')"],
  ['log_entry', `update log_entry set content = '${otherHeads}' where ledger_id is null`],
  ['log_entry', 'update log_entry set revision = 1 where ledger_id is null'],
])('verification finds the map of last heads altered in %s: %s', async (type, statement) => {
  const { store, database } = stored
  for (const name of ['payments', 'other']) {
    await createProject(store, name)
    await sign()
  }
  await database.execute(statement)
  const found = (await verifiedTables()).map(({ subject }) => subject.type)
  expect(found).toContain(type)
})

test('a map of last heads that was altered is not signed', async () => {
  const { database } = stored
  const { id } = await start()
  await database.execute('delete from log_slot')
  await rename(id, 'renamed')
  await expect(sign()).rejects.toEqual(stopped('damaged'))
})

test('the whole ledger of exchanges for all projects is missed by that of the system', async () => {
  const { store, database } = stored
  const rule = accessRuleRecord()
  await store.commit(accessRuleChanges.createAccessRule, { origin: origin(), rule })
  const exchange = { apiKey: exchangedKeyRecord(rule), rule, matched: [] }
  await store.commit(exchangeChanges.exchangeToken, { origin: origin(), ...exchange })
  await database.execute('delete from api_key where rule_id = ?', rule.id)
  for (const table of ['event', 'ledger']) {
    await database.execute(`delete from ${table} where project_id = ?`, exchangeLedgerId)
  }
  const broken = { revision: 0, detail: 'the whole ledger is missing' }
  expect(await verdicts()).toContainEqual(
    expect.objectContaining({ ledgerId: exchangeLedgerId, broken }),
  )
})

describe('the service', () => {
  test('a log that another replica restarts during a run is that of another key, and neither damaged nor diverged', async () => {
    const { store } = stored
    const other = createKeyFile().open()
    let isRestarted = false
    const witnesses = {
      async confirm() {
        if (isRestarted) return
        isRestarted = true
        await restartLog(contextOf(store), other, origin())
      },
      cosign: async ({ note }: { note: string }) => note,
      results: () => [],
    }
    const log = createLog({ ...contextOf(store), witnesses }, key.open())
    // Witnesses confirm the last checkpoint before the next one.
    await log.sign()
    await createProject(store, 'payments')
    await expect(log.sign()).rejects.toEqual(stopped('other_key'))
    expect(log.state()).toEqual({ fault: 'other_key' })
    log.close()
  })

  test('after a start, it dates a checkpoint at once that nobody has dated for a minute', async () => {
    const date = async () => {
      const tree = await readTree(stored.store.reader)
      return (await verified(tree ?? expect.fail())).date ?? 0
    }
    await start()
    const first = await date()
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    for (const seconds of [30, 40]) {
      clock.advance(seconds * 1_000)
      const log = createLog(contextOf(stored.store), key.open())
      expect(await log.check()).toBe(true)
      vi.advanceTimersByTime(1_000)
      // It begins after the run before it.
      await log.check()
      log.close()
      expect((await date()) - first > 60).toBe(seconds === 40)
    }
    vi.useRealTimers()
  })

  test('it signs at the interval, and reports when it stops', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    await createProject(stored.store, 'payments')
    const log = createLog(contextOf(stored.store), key.open())
    const passInterval = () => {
      clock.advance(60_000)
      vi.advanceTimersByTime(60_000)
    }
    const states: LogState[] = []
    const seen = (state: LogState) =>
      new Promise<void>((resolve) => {
        log.onRun((next) => {
          states.push(next)
          if (JSON.stringify(next) === JSON.stringify(state)) resolve()
        })
      })
    const signed = seen({})
    passInterval()
    await signed
    expect((await readTree(stored.store.reader))?.checkpointSize).toBe(3)
    rmSync(`${key.file}.checkpoints`)
    const hasStopped = seen({ fault: 'checkpoints_missing' })
    passInterval()
    await hasStopped
    expect(log.state()).toEqual({ fault: 'checkpoints_missing' })
    await expect(log.restart(origin())).rejects.toEqual(stopped('key_used'))
    expect(log.state()).toEqual({ fault: 'checkpoints_missing' })
    log.close()
    key.replace()
    const restarted = createLog(contextOf(stored.store), key.open())
    await restarted.restart(origin())
    expect(restarted.state()).toEqual({})
    restarted.close()
    vi.useRealTimers()
  })
})
