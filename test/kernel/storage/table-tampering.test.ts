import { readFileSync, writeFileSync } from 'node:fs'
import { beforeEach, describe, expect, inject, test } from 'vitest'
import { parseLedgerProof, verifyChain } from '../../../packages/client/src/log/index.ts'
import { readAccessRules } from '../../../packages/server/src/features/access-rules/reads.ts'
import { findApiKeyByDigest } from '../../../packages/server/src/features/api-keys/reads.ts'
import { apiKeys } from '../../../packages/server/src/features/api-keys/stored.ts'
import {
  publishedKeySets,
  readStoredTexts,
} from '../../../packages/server/src/features/keys/published/stored.ts'
import { readKeySet } from '../../../packages/server/src/features/keys/reads.ts'
import type { keys } from '../../../packages/server/src/features/keys/stored.ts'
import { proveLedger } from '../../../packages/server/src/features/log/proofs.ts'
import { readLinks } from '../../../packages/server/src/features/registration-links/reads.ts'
import { readRotations } from '../../../packages/server/src/features/rotations/reads.ts'
import {
  findSessionByDigest,
  readPeople,
  readSessions,
} from '../../../packages/server/src/features/sign-in/reads.ts'
import { features } from '../../../packages/server/src/features.ts'
import { subjectsOf, tablesOf } from '../../../packages/server/src/kernel/feature.ts'
import { verifyLedgers } from '../../../packages/server/src/kernel/ledger/all-ledgers.ts'
import type { LedgerEvent } from '../../../packages/server/src/kernel/ledger/chain.ts'
import { readEvents } from '../../../packages/server/src/kernel/ledger/event-reads.ts'
import { isWhole, logId } from '../../../packages/server/src/kernel/ledger/verification.ts'
import { openReads } from '../../../packages/server/src/kernel/storage/open.ts'
import {
  type ColumnKind,
  columnsOf,
  keyColumnsOf,
  plainKind,
  type Table,
} from '../../../packages/server/src/kernel/storage/schema.ts'
import { isActive } from '../../../packages/server/src/kernel/values/times.ts'
import { openLedgerReader, openStore } from '../../../packages/server/src/registry.ts'
import { createKeyFile } from '../../support/log/key-file.ts'
import { createDatabase } from '../../support/store/database.ts'
import { fillRegistry, sign } from '../../support/store/full-registry.ts'
import { type TamperedRegistry, tamperings } from '../../support/store/tamperings.ts'

let registry: TamperedRegistry
const keyFile = createKeyFile()
const original = await createDatabase()
const store = await openStore(original.url)
const full = await fillRegistry(store, keyFile.open())
const { projectId, otherProjectId } = full
/** Made before the alterations, and kept by a reader; and what the signing key has signed by then. */
const proof = parseLedgerProof((await proveLedger(store.reader, projectId, undefined)).proof)
const checkpoints = readFileSync(`${keyFile.file}.checkpoints`)
const events = new Map<string, LedgerEvent[]>()
for (const ledgerId of [projectId, otherProjectId]) {
  events.set(ledgerId, await readEvents(store.reader, ledgerId, { after: 0, limit: 500 }))
}
await store.close()
registry = {
  database: original,
  eventsOf: (ledgerId) => events.get(ledgerId) ?? [],
  ...full,
}

beforeEach(async () => {
  registry = { ...registry, database: await original.copy() }
})

async function verdicts() {
  const reader = await openLedgerReader(registry.database.url)
  const found = await Array.fromAsync(verifyLedgers(reader))
  await reader.close()
  return found
}

/** The rows that a server does not use, and the projects that it does not serve. */
async function unused() {
  // Without the thread that writes, whose start would take most of the time.
  const { db, close } = await openReads(registry.database.url)
  const time = new Date().toISOString()
  const found: string[] = []
  for (const id of [registry.projectId, registry.otherProjectId]) {
    const keySet = await readKeySet(db, id).catch(() => undefined)
    if (keySet === undefined) found.push(`project ${id}`)
    const { texts } = await readStoredTexts(db, id)
    if (texts === undefined) found.push(`published_key_set ${id}`)
    for (const key of keySet?.keys ?? []) if (key.contradicted) found.push(`key ${key.id}`)
    const used = (await readRotations(db, id)).map((rotation) => rotation.id)
    const rows = registry.database.query('select id from rotation where project_id = ?', id)
    for (const row of await rows) {
      if (!used.includes(String(row.id))) found.push(`rotation ${row.id}`)
    }
    for (const { id: linkId, contradicted } of await readLinks(db, id, time)) {
      if (contradicted) found.push(`registration_link ${linkId}`)
    }
    for (const key of keySet?.keys ?? [])
      expect(key.contradicted && isActive(key, time)).not.toBe(true)
  }
  for (const { id, contradicted } of await readPeople(db)) {
    if (contradicted) found.push(`person ${id}`)
  }
  for (const row of await registry.database.query('select id, digest from api_key')) {
    const apiKey = await apiKeys.find(db, String(row.id))
    if (apiKey?.contradicted) found.push(`api_key ${row.id}`)
    const byDigest = await findApiKeyByDigest(db, String(row.digest))
    expect(byDigest).toEqual(apiKey)
  }
  for (const accessRule of await readAccessRules(db)) {
    if (accessRule.contradicted) found.push(`access_rule ${accessRule.id}`)
  }
  for (const session of await readSessions(db, 'all')) {
    if (session.contradicted) found.push(`session ${session.id}`)
    const byDigest = await findSessionByDigest(db, session.digest)
    expect(byDigest?.contradicted).toBe(session.contradicted)
  }
  await close()
  return found
}

/** The log contradicts what the server exports now, and its signer stops. */
async function expectContradictedLog() {
  const store = await openStore(registry.database.url)
  const events = await readEvents(store.reader, registry.projectId, { after: 0, limit: 500 })
  await expect(verifyChain(proof.head, events)).rejects.toMatchObject({ code: 'disproved' })
  writeFileSync(`${keyFile.file}.checkpoints`, checkpoints)
  const signed = sign(store, keyFile.open())
  await expect(signed).rejects.toMatchObject({
    code: 'log_stopped',
    extras: { errors: [{ code: 'rewritten' }] },
  })
  await store.close()
}

test('an unaltered registry has no difference, and every row is used', async () => {
  const found = await verdicts()
  expect(found.flatMap(({ differences }) => differences)).toEqual([])
  expect(found.every(isWhole)).toBe(true)
  expect(await unused()).toEqual([])
})

describe('a person with write access to the database alters', () => {
  test.each(tamperings.map((each) => [each.name, each.caughtBy, each] as const))(
    '%s: caught by the %s',
    async (_name, caughtBy, { tamper, named, broken }) => {
      await tamper(registry)
      const found = await verdicts()
      const differences = found.flatMap((verdict) => verdict.differences)
      if (caughtBy === 'log') {
        // The ledger is consistent in itself: only what was logged before tells.
        expect(found.filter((one) => !isWhole(one)).map(({ ledgerId }) => ledgerId)).toEqual([
          logId,
        ])
        expect(differences[0]?.detail).toContain(registry.projectId)
        await expectContradictedLog()
        return
      }
      expect(found.every(isWhole)).toBe(false)
      const subject = named?.(registry)
      if (subject !== undefined) {
        const { member, ...rest } = subject
        expect(differences).toContainEqual(
          expect.objectContaining({ subject: rest, ...(member === undefined ? {} : { member }) }),
        )
      }
      if (broken !== undefined) {
        expect(found.map((verdict) => verdict.broken?.detail ?? '').join('\n')).toMatch(broken)
      }
      const rejected = await unused()
      if (caughtBy === 'read') {
        const { type, id } = subject ?? { type: 'key', id: registry.key.id }
        expect(rejected).toContain(`${type} ${id}`)
      }
    },
  )
})

/** Another value of the kind, which a person with write access might set. */
function altered(kind: ColumnKind, value: unknown): string | number {
  if (plainKind(kind) === 'boolean') return value === 1 ? 0 : 1
  if (plainKind(kind) === 'json') return value === '{}' ? '{"x":1}' : '{}'
  if (plainKind(kind) !== 'text') return Number(value ?? 0) + 1_000
  return /^\d{4}-/.test(String(value)) ? '2020-01-01T00:00:00.000Z' : `${value ?? ''}x`
}

/** Alters a column of a row, and puts its value back after the work. */
async function withAltered(
  { name, columns }: Table,
  { row, column }: { row: Record<string, unknown>; column: string },
  work: () => Promise<void>,
) {
  const value = altered(columns[column] ?? 'text', row[column])
  const keys = keyColumnsOf(columns)
  const where = keys.map((key) => `"${key}" = ?`).join(' and ')
  const set = `update ${name} set "${column}" = ? where ${where}`
  const keyOf = (found: Record<string, unknown>) => keys.map((key) => found[key] as string)
  await registry.database.execute(set, value, ...keyOf(row))
  await work()
  await registry.database.execute(set, row[column] as string, ...keyOf({ ...row, [column]: value }))
}

describe('each column is compared, or its table has the reason why not', () => {
  test.each(tablesOf(features).map((table) => [table.name, table] as const))(
    '%s',
    async (name, table) => {
      const rows = await registry.database.query(`select * from ${name}`)
      const ledgers = await openLedgerReader(registry.database.url)
      const { db, close } = await openReads(registry.database.url)
      const areWhole = async () => (await Array.fromAsync(verifyLedgers(ledgers))).every(isWhole)
      const kind = subjectsOf(features).find((one) => one.isComparedAtRead && one.table === table)
      const columns = columnsOf(table)
      // The comparison is the same on both engines: one column shows that it works.
      for (const column of inject('engine') === 'postgres' ? columns.slice(-1) : columns) {
        const filled = rows.find((row) => row[column] !== null)
        const empty = rows.find((row) => row[column] === null)
        const examples = [filled, empty].filter((row) => row !== undefined)
        const reason = table.uncovered[column]
        expect(examples.length > 0 || reason !== undefined, `a row with ${column}`).toBe(true)
        for (const row of examples) {
          await withAltered(table, { row, column }, async () => {
            const what = `${column} of ${JSON.stringify(row)}`
            expect(await areWhole(), what).toBe(reason !== undefined)
            if (kind === undefined) return
            const isRejected =
              kind === publishedKeySets
                ? (await unused()).some((row) => row.startsWith(name))
                : (await (kind as typeof keys).read(db)).some(({ contradicted }) => contradicted)
            expect(isRejected, what).toBe(reason === undefined)
          })
        }
      }
      expect(await areWhole()).toBe(true)
      await close()
      await ledgers.close()
    },
  )
})

/** Not JSON, another type, and brackets that exhaust the stack of a recursive function. */
const odd = ['{', 'null', '[[]]', `${'['.repeat(100_000)}${']'.repeat(100_000)}`]

describe('odd values in columns with JSON', () => {
  test.each([
    ['jwt_key', 'jwk'],
    ['access_rule', 'conditions'],
    ['access_rule', 'jwks'],
    ['session', 'person'],
    ['event', 'changes'],
  ])('%s.%s is found, and no row with it is used', async (table, column) => {
    for (const value of odd) {
      await registry.database.execute(`update ${table} set ${column} = ?`, value)
      expect((await verdicts()).every(isWhole), value.slice(0, 9)).toBe(false)
      expect(await unused(), value.slice(0, 9)).not.toEqual([])
    }
  })
})
