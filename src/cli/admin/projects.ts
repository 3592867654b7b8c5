import type { Project } from '../../../client/src/index.ts'
import type { ConfirmedFlags, ConnectionFlags } from '../connection/connection.ts'
import { type Session, withSession } from '../connection/session.ts'
import { confirm } from '../terminal/confirm.ts'
import { type Column, formatMembers, formatTable } from '../terminal/table.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { formatRelative, formatTime } from '../terminal/times.ts'

const columns: readonly Column<Project>[] = [
  { heading: 'NAME', value: ({ name }) => name, truncate: true },
  { heading: 'ID', value: ({ id }) => id },
  { heading: 'REVISION', value: ({ revision }) => String(revision) },
  {
    heading: 'CREATED',
    value: ({ createTime }) => createTime,
    display: ({ createTime }) => formatRelative(createTime),
  },
]

export async function listProjects(terminal: Terminal, flags: ConnectionFlags): Promise<void> {
  await withSession(terminal, flags, async ({ client, print, notify }) => {
    const projects = await Array.fromAsync(client.projects.all())
    print(projects, () => formatTable(terminal, columns, projects))
    if (projects.length === 0) notify('There are no projects. pubring project create creates one.')
  })
}

export async function createProject(
  terminal: Terminal,
  name: string,
  flags: ConnectionFlags,
): Promise<void> {
  await withSession(terminal, flags, async ({ client, print, notify }) => {
    const project = await client.projects.create({ name })
    print(project, () => `${project.id}\n`)
    notify(
      `Created project ${project.name}. Add its first key: pubring key add key.pem --project ${project.name} --name …`,
    )
  })
}

/** Shows the project with the issuer and the key set address that verifiers use. */
export async function showProject(
  terminal: Terminal,
  ref: string | undefined,
  flags: ConnectionFlags,
): Promise<void> {
  await withProject(terminal, ref, flags, async ({ client, print }, project) => {
    const { issuer, jwks_uri: jwksUri } = await client.jwks.discovery(project.id)
    print({ ...project, issuer, jwksUri }, () =>
      formatMembers(terminal, [
        ['name', project.name],
        ['id', project.id],
        ['revision', String(project.revision)],
        ['created', formatTime(project.createTime, terminal)],
        ['updated', formatTime(project.updateTime, terminal)],
        ['issuer', issuer],
        ['key set', jwksUri],
      ]),
    )
  })
}

export async function renameProject(
  terminal: Terminal,
  ref: string,
  name: string,
  flags: ConnectionFlags,
): Promise<void> {
  await withProject(terminal, ref, flags, async ({ client, print, notify }, { id }) => {
    const project = await client.projects.rename(id, name)
    print(project, () => '')
    notify(`Project ${id} is now called ${project.name}.`)
  })
}

export async function deleteProject(
  terminal: Terminal,
  ref: string,
  flags: ConfirmedFlags,
): Promise<void> {
  await withProject(terminal, ref, flags, async ({ client, print, notify }, { id, name }) => {
    await confirm(terminal, {
      statement: `Project ${name} (${id}) will be deleted permanently.`,
      question: 'Delete it?',
      yes: flags.yes,
      unattended: 'proceed',
    })
    await client.projects.delete(id)
    print({ deleted: id }, () => '')
    notify(`Project ${name} (${id}) is deleted. Its ledger can still be read by id.`)
  })
}

/** Runs the action on the project in the arguments, or else on the one of the settings. */
async function withProject(
  terminal: Terminal,
  ref: string | undefined,
  flags: ConnectionFlags,
  action: (session: Session, project: Project) => Promise<void>,
): Promise<void> {
  const override = ref === undefined ? {} : { project: ref, projectSource: 'the command line' }
  await withSession(terminal, { ...flags, ...override }, async (session) => {
    await action(session, await session.client.projects.get(session.project))
  })
}
