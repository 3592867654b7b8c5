import type { Rotation } from '../../../client/src/index.ts'
import { pickOne } from '../connection/pick.ts'
import type { Session } from '../connection/session.ts'
import { usageError } from '../terminal/failures.ts'
import { type Column, formatTable, timeColumn } from '../terminal/table.ts'

const columns: readonly Column<Rotation>[] = [
  { heading: 'ID', value: ({ id }) => id, id: true },
  { heading: 'OLD', value: ({ from }) => from, id: true },
  { heading: 'NEW', value: ({ to }) => to, id: true },
  { heading: 'STATE', value: ({ state }) => state },
  timeColumn('CONVERGES', ({ convergedTime }) => convergedTime),
  timeColumn('OLD KEY EXPIRES', ({ expireTime }) => expireTime),
  { heading: 'STARTED BY', value: ({ startedBy }) => startedBy.name, cut: true },
]

export async function listRotations(session: Session): Promise<void> {
  const { client, project, terminal, print, notify } = session
  const rotations = await session.client.rotations.list(session.project)
  const kids = (await client.keys.list(project)).map(({ id }) => id)
  print(rotations, () => formatTable(terminal, columns, rotations, kids))
  if (rotations.length === 0) notify(`Project ${project} has no rotations.`)
}

export async function abandonRotation(session: Session, ref: string): Promise<void> {
  const { id } = await findRotation(session, ref)
  await session.client.rotations.abandon(session.project, id)
  session.print({ abandoned: id })
  session.notify(`Abandoned the rotation ${id}. The keys stay as they are.`)
}

/** The rotation with this id or beginning of one; without: the only one under way. */
export async function findRotation(session: Session, ref: string | true): Promise<Rotation> {
  const rotations = await session.client.rotations.list(session.project)
  const listHint = 'pubring key rotation list shows the rotations of the project.'
  if (ref === true) {
    const open = rotations.filter(({ state }) => /^(spreading|overlapping)$/.test(state))
    const [only, ...others] = open
    if (only !== undefined && others.length === 0) return only
    throw usageError(`${open.length} rotations are under way: name one after --resume.`, listHint)
  }
  return pickOne(rotations, ref, {
    plural: 'rotations',
    idName: 'id',
    nameOf: ({ id }) => id,
    describe: ({ id, from, to }) => `${id}  ${from} → ${to}`,
    missing: `Project ${session.project} has no rotation`,
    code: 'rotation_not_found',
    listHint,
  })
}
