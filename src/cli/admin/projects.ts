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
    if (projects.length === 0) notify('There are no projects. pubring project create makes one.')
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
      `Project ${project.name} is made. Its first key: pubring key add key.pem --project ${project.name} --name …`,
    )
  })
}

/** The project, its issuer and the address of its key set, as verifiers see them. */
export async function showProject(
  terminal: Terminal,
  given: string | undefined,
  flags: ConnectionFlags,
): Promise<void> {
  await withSession(
    terminal,
    withProject(flags, given),
    async ({ client, project: ref, print }) => {
      const project = await client.projects.get(ref)
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
  given: string,
  name: string,
  flags: ConnectionFlags,
): Promise<void> {
  await withSession(
    terminal,
    withProject(flags, given),
    async ({ client, project: ref, print, notify }) => {
      const project = await client.projects.rename(ref, name)
      print(project, () => '')
      notify(`The project ${project.id} is called ${project.name}.`)
    },
  )
}

export async function deleteProject(
  terminal: Terminal,
  given: string,
  flags: ConfirmedFlags,
): Promise<void> {
  await withSession(
    terminal,
    withProject(flags, given),
    async ({ client, project: ref, print, notify }) => {
      const project = await client.projects.get(ref)
      await confirm(terminal, {
        statement: `Project ${project.name} (${project.id}) will be deleted for good.`,
        question: 'Delete it?',
        yes: flags.yes,
        unattended: 'proceed',
      })
      await client.projects.delete(project.id)
      print({ deleted: project.id }, () => '')
      notify(
        `Project ${project.name} (${project.id}) is deleted; its ledger stays readable by its id.`,
      )
    },
  )
}

/** A project named as an argument goes before every other. */
function withProject(flags: ConnectionFlags, project: string | undefined): ConnectionFlags {
  return project === undefined ? flags : { ...flags, project, projectSource: 'the command line' }
}
