import type { Command } from 'commander'
import type { Terminal } from '../terminal/terminal.ts'
import { addApiCommand, addGroup, lazyAction, yesOption } from './options.ts'

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
  }).action(lazyAction(terminal, async () => (await import('../admin/projects.ts')).listProjects))
  addApiCommand(project, {
    name: 'show',
    description: 'Show a project, with the addresses that verifiers need',
    examples: ['pubring project show payments'],
  })
    .argument('[project]', `${refHelp}; default: that of PUBRING_PROJECT or the profile`)
    .action(lazyAction(terminal, async () => (await import('../admin/projects.ts')).showProject))
}

function registerChanges(project: Command, terminal: Terminal): void {
  addApiCommand(project, {
    name: 'create',
    description: 'Create a project and print its id',
    examples: ['pubring project create payments'],
  })
    .argument('<name>', '1 to 128 of a-z, 0-9 and hyphen')
    .action(lazyAction(terminal, async () => (await import('../admin/projects.ts')).createProject))
  addApiCommand(project, {
    name: 'rename',
    description: 'Rename a project; its id and its issuer stay the same',
    examples: ['pubring project rename payments billing'],
  })
    .argument('<project>', refHelp)
    .argument('<name>', 'The new name')
    .action(lazyAction(terminal, async () => (await import('../admin/projects.ts')).renameProject))
  addApiCommand(project, {
    name: 'delete',
    description: 'Delete a project without keys permanently',
    examples: ['pubring project delete payments --yes'],
  })
    .argument('<project>', refHelp)
    .addOption(yesOption())
    .action(lazyAction(terminal, async () => (await import('../admin/projects.ts')).deleteProject))
}
