import type { JwsAlgorithm, RegistrationLink } from '@pubring/client'
import { present } from '@pubring/server/runtime/present'
import { commandLine } from '../connection/command-lines.ts'
import { pickOne } from '../connection/pick.ts'
import type { Session } from '../connection/session.ts'
import { confirm, type YesFlag } from '../terminal/confirm.ts'
import { type Column, formatTable, timeColumn } from '../terminal/table.ts'

interface LinkFlags {
  note: string
  expires?: string
  newKeys?: 'active' | 'inactive'
  returnUrl?: string
  algorithm?: JwsAlgorithm[]
}

/** Creates a registration link; only its address goes to stdout. */
export async function createLink(session: Session, flags: LinkFlags): Promise<void> {
  const { client, project, print, notify } = session
  const { note, expires: expireTime, newKeys, returnUrl, algorithm: algorithms } = flags
  const link = await client.registrationLinks.create(project, {
    note,
    ...present({ expireTime, newKeys, returnUrl, algorithms }),
  })
  const keys = link.newKeys === 'active' ? 'are active at once' : 'wait until you activate them'
  notify(
    `Link for “${link.note}”, id ${link.id}, until ${link.expireTime}. Its keys ${keys}. One browser can open it, and it is shown only once:`,
  )
  print(link, () => `${link.url}\n`)
}

const columns: readonly Column<RegistrationLink>[] = [
  { heading: 'ID', value: ({ id }) => id, id: true },
  { heading: 'NOTE', value: ({ note }) => note, cut: true },
  { heading: 'STATE', value: ({ state }) => state },
  { heading: 'KEYS', value: ({ keys }) => String(keys.length) },
  timeColumn('EXPIRES', ({ expireTime }) => expireTime),
]

export async function listLinks({ client, project, terminal, print }: Session): Promise<void> {
  const links = await client.registrationLinks.list(project)
  print(links, () => formatTable(terminal, columns, links))
}

export async function deleteLink(session: Session, ref: string, flags: YesFlag): Promise<void> {
  const { client, project, terminal } = session
  const { id, note } = pickOne(await client.registrationLinks.list(project), ref, {
    list: commandLine(session, 'registration-link list'),
    noun: 'registration link',
    nameOf: (link) => link.note,
    describe: ({ state, createTime }) => `(${state}, created ${createTime})`,
  })
  const statement = `The link for “${note}” and the session of its browser end. Its keys stay.`
  await confirm(terminal, flags, { statement, question: 'Revoke it?' })
  await client.registrationLinks.delete(project, id)
  session.print({ deleted: id })
  session.notify(`The link for “${note}” (${id}) has ended.`)
}
