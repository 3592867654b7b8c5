import { expect, test } from 'vitest'
import type { Algorithm } from '../../../packages/intake/src/algorithms.ts'
import { keyChanges } from '../../../packages/server/src/features/keys/changes.ts'
import type { KeyRecord } from '../../../packages/server/src/features/keys/stored.ts'
import { readProjectKeys } from '../../../packages/server/src/features/warnings/reads.ts'
import { keyWarnings } from '../../../packages/server/src/features/warnings/rules.ts'
import { newId } from '../../../packages/server/src/kernel/values/ids.ts'
import { keyImport, keyRecord } from '../../support/store/key-records.ts'
import { createProject, openTestStore } from '../../support/store/store.ts'

const opened = await openTestStore()

const time = '2026-03-01T00:00:00.000Z'
const hoursFrom = (hours: number) => new Date(Date.parse(time) + hours * 3_600_000).toISOString()

test('the census counts the warnings that the rules give for each project', async () => {
  const { store } = opened
  const ids: string[] = []
  // Every combination of two keys, expired, expiring or not, on or off, with one label, algorithm and reason or not.
  const expiries = [undefined, -1, 0, 1, 24, 25, 7 * 24, 8 * 24, 30 * 24, 31 * 24]
  for (const [index, first] of expiries.entries()) {
    for (const second of expiries) {
      const { id: projectId } = await createProject(store, `p-${newId()}`)
      ids.push(projectId)
      const keys = [first, second].map((hours, at) => {
        const expiry = hours === undefined ? {} : { expireTime: hoursFrom(hours) }
        const label = `signer ${(index % 2) * at}`
        const algorithm: Algorithm = at === 0 || index % 5 !== 0 ? 'ES256' : 'ML-DSA-44'
        const reason: Partial<KeyRecord> = index === 7 ? { endReason: 'compromised' } : {}
        const members = { label, algorithm, ...reason }
        const enabled = at === 0 || index % 3 !== 0
        const hash = newId()
        const hashes = { thumbprint: hash, spkiSha256: hash, materialSha256: hash }
        return { ...template, ...expiry, ...hashes, ...members, id: newId(), projectId, enabled }
      })
      await store.commit(keyChanges.importKeys, keyImport(keys))
    }
  }
  const census = await store.census(time)
  const keysOf = await readProjectKeys(store.reader, ids)
  const warnings = ids.flatMap((id) => keyWarnings(keysOf(id), time))
  const counts = Map.groupBy(warnings, ({ code, severity }) => `${code} ${severity}`)
  expect(counts.size).toBe(5)
  expect(
    new Map(census.warnings.map(({ code, severity, count }) => [`${code} ${severity}`, count])),
  ).toEqual(new Map([...counts].map(([kind, found]) => [kind, found.length])))
  expect(new Set(census.warnedProjects)).toEqual(new Set(warnings.map((each) => each.projectId)))
  const worst = census.warnedProjects.map((id) => {
    const own = warnings.filter(({ projectId }) => projectId === id)
    return Math.min(...own.map(({ severity }) => ['critical', 'warning', 'info'].indexOf(severity)))
  })
  expect(worst).toEqual(worst.toSorted())
})

const template = keyRecord('')
