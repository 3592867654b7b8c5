import { DatabaseSync } from 'node:sqlite'
import { afterAll, expect, test } from 'vitest'
import { projectChanges } from '../../../../packages/server/src/features/projects/changes.ts'
import { systemLedgerId } from '../../../../packages/server/src/kernel/ledger/chain.ts'
import { newId } from '../../../../packages/server/src/kernel/values/ids.ts'
import { openStore } from '../../../../packages/server/src/registry.ts'
import { temporaryFolder } from '../../../support/server/process.ts'
import { createProject, origin } from '../../../support/store/store.ts'

const { folder } = temporaryFolder()
const file = `${folder}/pubring.db`

const store = await openStore(`sqlite:${file}`)
const other = new DatabaseSync(file)

afterAll(async () => {
  other.close()
  await store.close()
})

/** The names of the projects that begin so, in the order of the ledger's events. */
const stored = (prefix: string) =>
  other
    .prepare(
      `select name from project join event on event.subject_id = project.id
       where event.project_id = ? and name like ? order by event.revision`,
    )
    .all(systemLedgerId, `${prefix}%`)
    .map(({ name }) => name)

const numbered = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, index) => `${prefix}-${index}`)

/** All in one turn of the event loop; each checks that another connection sees it when it is answered. */
const createAtOnce = (names: string[], answered: string[] = []) =>
  Promise.allSettled(
    names.map(async (name) => {
      await createProject(store, name)
      answered.push(name)
      expect(stored(name)).toContain(name)
    }),
  )

test.each([1, 2, 15, 16, 17, 40, 300])(
  '%i changes of one turn are committed before they are answered, in their order',
  async (count) => {
    const names = numbered(`turn-${count}`, count)
    const answered: string[] = []
    const results = await createAtOnce(names, answered)
    expect(results.filter(({ status }) => status === 'rejected')).toEqual([])
    expect(answered).toEqual(names)
    expect(stored(`turn-${count}-`)).toEqual(names)
  },
)

test('a change that is refused fails alone, first, last or between others', async () => {
  await createProject(store, 'taken')
  const names = numbered('neighbour', 40)
  const requested = ['taken', ...names.slice(0, 15), 'taken', ...names.slice(15), 'taken']
  const results = await createAtOnce(requested)
  const refused = results.flatMap(({ status }, index) => (status === 'rejected' ? [index] : []))
  expect(refused).toEqual([0, 16, 42])
  expect(stored('neighbour')).toEqual(names)
})

test('a change that is refused after it has written leaves nothing', async () => {
  const { id: projectId } = await createProject(store, 'given-up')
  const renaming = { origin: origin(), projectId, name: 'renamed' }
  await store.commit(projectChanges.renameProject, renaming)
  const creation = { origin: origin(), id: newId(), name: 'given-up' }
  const refused = store.commit(projectChanges.createProject, creation)
  await expect(refused).rejects.toMatchObject({ code: 'project_name_taken' })
  expect(other.prepare('select id from project where id = ?').all(creation.id)).toEqual([])
})

test('if the transaction is lost, none of its changes is answered as made, and later ones are', async () => {
  other.exec(
    `create trigger lost after insert on project when new.name = 'lost-5' begin select raise(rollback, 'lost'); end`,
  )
  const results = await createAtOnce(numbered('lost', 40))
  other.exec('drop trigger lost')
  expect(results.filter(({ status }) => status === 'fulfilled')).toEqual([])
  expect(stored('lost')).toEqual([])
  await createProject(store, 'lost-5')
  expect(stored('lost')).toEqual(['lost-5'])
})

test('changes of the turn in which the store is closed are made', async () => {
  const closing = await openStore(`sqlite:${file}`)
  const names = numbered('closing', 20)
  const changes = names.map((name) => createProject(closing, name))
  await closing.close()
  await Promise.all(changes)
  expect(stored('closing')).toEqual(names)
})
