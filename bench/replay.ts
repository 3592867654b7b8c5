/**
 * Measures the replay of one project's ledger: its chain, its events and the comparison with the
 * tables, in CPU time of this process.
 *
 *   npm run bench:replay -- --events 10000
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { keyChanges } from '../packages/server/src/features/keys/changes.ts'
import { projectChanges } from '../packages/server/src/features/projects/changes.ts'
import { isWhole, verifyLedger } from '../packages/server/src/kernel/ledger/verification.ts'
import { newId } from '../packages/server/src/kernel/values/ids.ts'
import { openLedgerReader, openStore } from '../packages/server/src/registry.ts'
import { createFreshKeys } from './fill/fresh-keys.ts'
import { recordOf } from './fill/registry-rows.ts'

const { values } = parseArgs({ options: { events: { type: 'string', default: '10000' } } })
const count = Number(values.events)
const keys = 50
const rounds = 5

/** Changes committed together. */
const batch = 500

const folder = mkdtempSync(join(tmpdir(), 'pubring-'))
const url = `sqlite:${folder}/pubring.db`
const time = new Date().toISOString()
const origin = () => ({ actor: { name: 'bench' }, requestId: newId(), time })
const limits = { maxKeys: keys, maxJwksBytes: 51_200 }
try {
  const store = await openStore(url)
  const projectId = newId()
  await store.commit(projectChanges.createProject, {
    origin: origin(),
    id: projectId,
    name: 'bench',
  })
  const kids: string[] = []
  const fresh = createFreshKeys(keys)
  for (const [index, accepted] of (await fresh.take(keys)).entries()) {
    const key = recordOf(projectId, `key ${index}`, accepted, time)
    await store.commit(keyChanges.createKey, { origin: origin(), key, limits })
    kids.push(key.id)
  }
  await fresh.close()
  for (let index = keys + 1; index < count; index += batch) {
    const numbers = Array.from(
      { length: Math.min(batch, count - index) },
      (_, more) => index + more,
    )
    const changes = numbers.map((number) => {
      const kid = kids[number % keys] ?? ''
      const patch = { label: `label ${number}` }
      return store.commit(keyChanges.updateKey, { origin: origin(), projectId, kid, patch, limits })
    })
    await Promise.all(changes)
  }
  await store.close()

  const reader = await openLedgerReader(url)
  const results: number[] = []
  for (let round = 0; round < rounds; round += 1) {
    const before = process.cpuUsage()
    const verdict = await verifyLedger(reader, projectId)
    const { user, system } = process.cpuUsage(before)
    if (!isWhole(verdict) || verdict.events !== count) throw new Error('the ledger is not whole')
    results.push((user + system) / 1_000)
  }
  await reader.close()
  const shown = results.map((ms) => `${Math.round(ms)} ms`).join(', ')
  process.stdout.write(`replay of ${count} events of ${keys} keys: ${shown} of CPU\n`)
} finally {
  rmSync(folder, { recursive: true })
}
