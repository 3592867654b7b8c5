import { afterAll, expect, test } from 'vitest'
import { keyChanges } from '../../packages/server/src/features/keys/changes.ts'
import { keySetOf } from '../../packages/server/src/features/keys/key-sets.ts'
import { projectChanges } from '../../packages/server/src/features/projects/changes.ts'
import { findProjectRecord } from '../../packages/server/src/kernel/access/stored-projects.ts'
import { newId } from '../../packages/server/src/kernel/values/ids.ts'
import { openStore } from '../../packages/server/src/registry.ts'
import { createDatabase } from '../support/store/database.ts'
import { keyRecord } from '../support/store/key-records.ts'
import { createProject, limits, origin } from '../support/store/store.ts'

/** Two replicas on one database. */
const database = await createDatabase('postgres')
const one = await openStore(database.url)
const other = await openStore(database.url)

afterAll(async () => {
  await one.close()
  await other.close()
})

const name = () => `n-${newId().slice(-12)}`

test('the next read of another replica sees every acknowledged change, 300 times', async () => {
  const { id: projectId } = await createProject(one, name())
  const key = keyRecord(projectId)
  await one.commit(keyChanges.createKey, { origin: origin(), key, limits })
  for (let round = 0; round < 300; round += 1) {
    const [writer, reader] = round % 2 === 0 ? [one, other] : [other, one]
    const patch = { label: `label ${round}` }
    const reading = Array.from({ length: 5 }, () => keySetOf(reader, projectId))
    await writer.commit(keyChanges.updateKey, {
      origin: origin(),
      projectId,
      kid: key.id,
      patch,
      limits,
    })
    const [seen, project] = await Promise.all([
      keySetOf(reader, projectId),
      findProjectRecord(reader.reader, { id: projectId }),
    ])
    expect(seen?.keys[0]?.label).toBe(patch.label)
    expect([seen?.revision, project?.revision]).toEqual([round + 3, round + 3])
    await Promise.all(reading)
  }
})

test('a name leads to the project that has it now', async () => {
  const [first, second] = [name(), name()]
  const { id } = await createProject(one, first)
  expect((await findProjectRecord(other.reader, { name: first }))?.id).toBe(id)
  expect((await findProjectRecord(other.reader, { name: first }))?.id).toBe(id)
  await one.commit(projectChanges.renameProject, { origin: origin(), projectId: id, name: second })
  expect(await findProjectRecord(other.reader, { name: first })).toBeUndefined()
  const { id: successor } = await createProject(one, first)
  expect((await findProjectRecord(other.reader, { name: first }))?.id).toBe(successor)
  expect((await findProjectRecord(other.reader, { name: second }))?.id).toBe(id)
  await one.commit(projectChanges.deleteProject, { origin: origin(), projectId: successor })
  expect(await findProjectRecord(other.reader, { name: first })).toBeUndefined()
  expect(await findProjectRecord(other.reader, { id: successor })).toBeUndefined()
  expect(await keySetOf(other, successor)).toBeUndefined()
})

test('the same revision of another history, as after a lossy fail-over, invalidates the cache', async () => {
  const { id: projectId } = await createProject(one, name())
  const key = keyRecord(projectId)
  await one.commit(keyChanges.createKey, { origin: origin(), key, limits })
  expect((await keySetOf(other, projectId))?.keys[0]?.enabled).toBe(true)
  await database.query('update jwt_key set enabled = 0 where project_id = ?', projectId)
  await database.query('update ledger set hash = ? where project_id = ?', 'f'.repeat(64), projectId)
  expect((await keySetOf(other, projectId))?.keys[0]?.enabled).toBe(false)
})

test('headsMatch sees every change that any replica acknowledged before the call', async () => {
  const { id: projectId } = await createProject(one, name())
  const seenNow = async () => {
    const head = (await one.heads([projectId])).get(projectId)
    return [{ ledgerId: projectId, hash: head?.hash ?? '' }]
  }
  for (const writer of [other, one]) {
    const seen = await seenNow()
    expect(await one.headsMatch(seen)).toBe(true)
    const early = one.headsMatch(seen)
    const key = keyRecord(projectId)
    await writer.commit(keyChanges.createKey, { origin: origin(), key, limits })
    const late = [1, 2, 3].map(() => one.headsMatch(seen))
    expect(await Promise.all(late)).toEqual([false, false, false])
    await early
    expect(await one.headsMatch(await seenNow())).toBe(true)
  }
  expect(await one.headsMatch([{ ledgerId: newId(), hash: 'f'.repeat(64) }])).toBe(false)
})
