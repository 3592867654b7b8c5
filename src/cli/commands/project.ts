import type { Command } from 'commander'
import type { ConfirmedFlags, ConnectionFlags } from '../connection/connection.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { addApiCommand, addGroup, yesOption } from './options.ts'

const whichProject =
  'id or name of the project; by default that of PUBRING_PROJECT or of the profile'

export function registerProjects(program: Command, terminal: Terminal): void {
  const project = addGroup(program, 'project', 'projects: the owners of sets of keys')
  addApiCommand(project, {
    usage: 'list',
    description: 'list the projects that the API key may see',
    notes: 'In a pipe: name, id, revision, createTime, with tabs between them.',
    examples: ['pubring project list', 'pubring project list | cut -f1'],
  }).action(async (flags: ConnectionFlags) => {
    const { listProjects } = await import('../admin/projects.ts')
    await listProjects(terminal, flags)
  })
  addApiCommand(project, {
    usage: 'create',
    description: 'make a project, and print its id',
    examples: ['pubring project create payments'],
  })
    .argument('<name>', '1 to 128 of a-z, 0-9 and hyphen')
    .action(async (name: string, flags: ConnectionFlags) => {
      const { createProject } = await import('../admin/projects.ts')
      await createProject(terminal, name, flags)
    })
  addApiCommand(project, {
    usage: 'show',
    description: 'show a project, with the addresses that verifiers need',
    examples: ['pubring project show payments'],
  })
    .argument('[project]', whichProject)
    .action(async (given: string | undefined, flags: ConnectionFlags) => {
      const { showProject } = await import('../admin/projects.ts')
      await showProject(terminal, given, flags)
    })
  addApiCommand(project, {
    usage: 'rename',
    description: 'give a project another name; its id, and with it the issuer, stays',
    examples: ['pubring project rename payments billing'],
  })
    .argument('<project>', 'id or name of the project')
    .argument('<name>', 'the new name')
    .action(async (given: string, name: string, flags: ConnectionFlags) => {
      const { renameProject } = await import('../admin/projects.ts')
      await renameProject(terminal, given, name, flags)
    })
  addApiCommand(project, {
    usage: 'delete',
    description: 'delete a project that has no keys, for good',
    examples: ['pubring project delete payments --yes'],
  })
    .argument('<project>', 'id or name of the project')
    .addOption(yesOption())
    .action(async (given: string, flags: ConfirmedFlags) => {
      const { deleteProject } = await import('../admin/projects.ts')
      await deleteProject(terminal, given, flags)
    })
}
