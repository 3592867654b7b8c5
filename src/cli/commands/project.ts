import type { Command } from 'commander'
import type { ConfirmedFlags, ConnectionFlags } from '../connection/connection.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { addApiCommand, addGroup, yesOption } from './options.ts'

const refHelp = 'Id or name of the project'

export function registerProjects(program: Command, terminal: Terminal): void {
  const project = addGroup(program, 'project', 'Manage projects, each with its own set of keys')
  registerReads(project, terminal)
  registerChanges(project, terminal)
}

function registerReads(project: Command, terminal: Terminal): void {
  addApiCommand(project, {
    name: 'list',
    description: 'List the projects that the API key can access',
    notes: 'In a pipe: name, id, revision, createTime, tab-separated.',
    examples: ['pubring project list', 'pubring project list | cut -f1'],
  }).action(async (flags: ConnectionFlags) => {
    const { listProjects } = await import('../admin/projects.ts')
    await listProjects(terminal, flags)
  })
  addApiCommand(project, {
    name: 'show',
    description: 'Show a project, with the addresses that verifiers need',
    examples: ['pubring project show payments'],
  })
    .argument('[project]', `${refHelp}; default: that of PUBRING_PROJECT or the profile`)
    .action(async (ref: string | undefined, flags: ConnectionFlags) => {
      const { showProject } = await import('../admin/projects.ts')
      await showProject(terminal, ref, flags)
    })
}

function registerChanges(project: Command, terminal: Terminal): void {
  addApiCommand(project, {
    name: 'create',
    description: 'Create a project and print its id',
    examples: ['pubring project create payments'],
  })
    .argument('<name>', '1 to 128 of a-z, 0-9 and hyphen')
    .action(async (name: string, flags: ConnectionFlags) => {
      const { createProject } = await import('../admin/projects.ts')
      await createProject(terminal, name, flags)
    })
  addApiCommand(project, {
    name: 'rename',
    description: 'Rename a project; its id and its issuer stay the same',
    examples: ['pubring project rename payments billing'],
  })
    .argument('<project>', refHelp)
    .argument('<name>', 'The new name')
    .action(async (ref: string, name: string, flags: ConnectionFlags) => {
      const { renameProject } = await import('../admin/projects.ts')
      await renameProject(terminal, ref, name, flags)
    })
  addApiCommand(project, {
    name: 'delete',
    description: 'Delete a project without keys permanently',
    examples: ['pubring project delete payments --yes'],
  })
    .argument('<project>', refHelp)
    .addOption(yesOption())
    .action(async (ref: string, flags: ConfirmedFlags) => {
      const { deleteProject } = await import('../admin/projects.ts')
      await deleteProject(terminal, ref, flags)
    })
}
