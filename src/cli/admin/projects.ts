import type { Project } from '../../../client/src/index.ts'
import type { ConfirmedFlags, ConnectionFlags } from '../connection/connection.ts'
import { withSession } from '../connection/session.ts'
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
      `Project ${project.name} is created. Add its first key: pubring key add key.pem --project ${project.name} --name …`,
    )
  })
}

/** Shows the project with the issuer and the key set address that verifiers use. */
export async function showProject(
  terminal: Terminal,
  ref: string | undefined,
  flags: ConnectionFlags,
): Promise<void> {
  await withSession(
    terminal,
    withProject(flags, ref),
    async ({ client, project: idOrName, print }) => {
      const project = await client.projects.get(idOrName)
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
    },
  )
}

export async function renameProject(
  terminal: Terminal,
  ref: string,
  name: string,
  flags: ConnectionFlags,
): Promise<void> {
  await withSession(
    terminal,
    withProject(flags, ref),
    async ({ client, project: idOrName, print, notify }) => {
      const project = await client.projects.rename(idOrName, name)
      print(project, () => '')
      notify(`Project ${project.id} is now called ${project.name}.`)
    },
  )
}

export async function deleteProject(
  terminal: Terminal,
  ref: string,
  flags: ConfirmedFlags,
): Promise<void> {
  await withSession(
    terminal,
    withProject(flags, ref),
    async ({ client, project: idOrName, print, notify }) => {
      const project = await client.projects.get(idOrName)
      await confirm(terminal, {
        statement: `Project ${project.name} (${project.id}) will be deleted permanently.`,
        question: 'Delete it?',
        yes: flags.yes,
        unattended: 'proceed',
      })
      await client.projects.delete(project.id)
      print({ deleted: project.id }, () => '')
      notify(
        `Project ${project.name} (${project.id}) is deleted. Its ledger can still be read by id.`,
      )
    },
  )
}

/** A project in the arguments takes precedence over all settings. */
function withProject(flags: ConnectionFlags, project: string | undefined): ConnectionFlags {
  return project === undefined ? flags : { ...flags, project, projectSource: 'the command line' }
}
