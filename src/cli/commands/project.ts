import type { Command } from 'commander'
import type { Terminal } from '../terminal/terminal.ts'
import { addApiCommand, addGroup, sessionAction, yesOption } from './options.ts'

const refHelp = 'Id or name of the project'

const loadProjects = () => import('../admin/projects.ts')

export function registerProjects(program: Command, terminal: Terminal): void {
  const project = addGroup(program, 'project', 'Manage projects, each with its own set of keys')
  addApiCommand(project, 'list', 'List the projects that the API key can access', {
    notes: 'In a pipe: name, id, revision, createTime, tab-separated.',
    examples: ['pubring project list', 'pubring project list | cut -f1'],
  }).action(sessionAction(terminal, async () => (await loadProjects()).listProjects))
  addApiCommand(project, 'show', 'Show a project, with the addresses that verifiers need', {
    examples: ['pubring project show payments'],
  })
    .argument('[project]', `${refHelp}; default: that of PUBRING_PROJECT or the profile`)
    .action(sessionAction(terminal, async () => (await loadProjects()).showProject))
  addApiCommand(project, 'create', 'Create a project and print its id', {
    examples: ['pubring project create payments'],
  })
    .argument('<name>', '1 to 128 characters: a-z, 0-9 and hyphens')
    .action(sessionAction(terminal, async () => (await loadProjects()).createProject))
  addApiCommand(project, 'rename', 'Rename a project; its id and its issuer stay the same', {
    examples: ['pubring project rename payments billing'],
  })
    .argument('<project>', refHelp)
    .argument('<name>', 'The new name')
    .action(sessionAction(terminal, async () => (await loadProjects()).renameProject))
  addApiCommand(project, 'delete', 'Delete a project without keys permanently', {
    examples: ['pubring project delete payments --yes'],
  })
    .argument('<project>', refHelp)
    .addOption(yesOption())
    .action(sessionAction(terminal, async () => (await loadProjects()).deleteProject))
}
