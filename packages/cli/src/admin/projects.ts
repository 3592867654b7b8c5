import type { Project } from '@pubring/client'
import { commandLine, projectCommandLine } from '../connection/command-lines.ts'
import { isShortId, pickOne } from '../connection/pick.ts'
import { type Session, selectProject, unless } from '../connection/session.ts'
import { confirm, type YesFlag } from '../terminal/confirm.ts'
import { type Column, formatMembers, formatTable, timeColumn } from '../terminal/table.ts'

const columns: readonly Column<Project>[] = [
  { heading: 'NAME', value: ({ name }) => name, cut: true },
  { heading: 'ID', value: ({ id }) => id, id: true },
  { heading: 'REVISION', value: ({ revision }) => String(revision) },
  timeColumn('CREATED', ({ createTime }) => createTime),
]

export async function listProjects(session: Session): Promise<void> {
  const { client, terminal, print, notify } = session
  const projects = await Array.fromAsync(client.projects.all())
  print(projects, () => formatTable(terminal, columns, projects))
  if (projects.length > 0) return
  notify(`There are no projects. To create one: ${commandLine(session, 'project create', 'NAME')}`)
}

export interface NameFlags {
  releaseName?: true
}

export async function createProject(
  session: Session,
  name: string,
  { releaseName: release }: NameFlags,
): Promise<void> {
  const project = await session.client.projects.create({ name }, { release })
  session.print(project, () => `${project.id}\n`)
  const there = { ...session, project: project.name }
  const add = projectCommandLine(there, 'key add', 'public.pem', '--label', 'first key')
  session.notify(`Created project ${project.name}. To add its first key: ${add}`)
}

/** Shows the project with the issuer and the key set address that verifiers use. */
export async function showProject(session: Session, ref: string | undefined): Promise<void> {
  const { client, terminal } = session
  const project = await findProject(session, ref)
  const { issuer, jwks_uri: jwksUri } = await client.jwks.discovery(project.id)
  const shown = { ...project, issuer, jwksUri }
  session.print(shown, () => formatMembers(terminal, shown))
}

export async function renameProject(
  session: Session,
  ref: string,
  name: string,
  { releaseName: release }: NameFlags,
): Promise<void> {
  const { id } = await findProject(session, ref)
  const project = await session.client.projects.rename(id, name, { release })
  session.print(project)
  session.notify(`Project ${id} is now called ${project.name}.`)
}

export async function deleteProject(session: Session, ref: string, flags: YesFlag): Promise<void> {
  const { id, name } = await findProject(session, ref)
  await confirm(session.terminal, flags, {
    statement: `Project ${name} (${id}) will be deleted permanently.`,
    question: 'Delete it?',
  })
  await session.client.projects.delete(id)
  session.print({ deleted: id })
  session.notify(`Project ${name} (${id}) is deleted. Its ledger can still be read by id.`)
}

/** The project in the arguments, by its id, name or unique end of an id, or else the one of the settings. */
async function findProject(session: Session, ref: string | undefined): Promise<Project> {
  if (ref !== undefined) selectProject(session, ref, 'the command line')
  const { client, project } = session
  const found = client.projects.get(project)
  if (ref === undefined || !isShortId(ref)) return found
  const named = await unless('project_not_found', found)
  if (named !== undefined) return named
  const all = await Array.fromAsync(client.projects.all())
  const ending = all.filter(({ id }) => id.endsWith(ref.toLowerCase()))
  return ending.length === 0 ? found : pickOne(ending, ref, projectKind(session))
}

const projectKind = (session: Session) => ({
  list: commandLine(session, 'project list'),
  noun: 'project',
  nameOf: ({ name }: Project) => name,
  describe: ({ name }: Project) => name,
})
