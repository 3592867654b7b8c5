import { type Command, Option } from 'commander'
import { roles } from '../../contract/roles.ts'
import type { ApiKeyCreateFlags } from '../admin/api-keys.ts'
import type { ConfirmedFlags, ConnectionFlags } from '../connection/connection.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { addApiCommand, addGroup, databaseOption, yesOption } from './options.ts'

const whichApiKey = 'id of the API key, or its name where only one has it'

export function registerApiKeys(program: Command, terminal: Terminal): void {
  const apiKey = addGroup(program, 'api-key', 'API keys: who may call the API')
  registerCreate(apiKey, terminal)
  registerReads(apiKey, terminal)
  registerChanges(apiKey, terminal)
  registerEnds(apiKey, terminal)
}

function registerCreate(apiKey: Command, terminal: Terminal): void {
  addApiCommand(apiKey, {
    usage: 'create',
    description: 'make an API key, and print its secret: the only time that it is shown',
    notes: [
      'It is made by the server, for one project with --project, for all without.',
      'With --admin it is made in the database itself, whether a server runs or not and without any API key: the way in for whoever has the machine. That is always an admin of all projects.',
    ].join('\n\n'),
    examples: [
      'pubring api-key create --name "deploy pipeline" --role writer --project payments > deploy.key',
      'export PUBRING_API_KEY=$(pubring api-key create --admin --name "way back in")',
    ],
  })
    .option('-n, --name <name>', 'what the list of API keys calls it')
    .addOption(new Option('-r, --role <role>', 'what it may do').choices(roles))
    .option('-p, --project <id-or-name>', 'the one project that it is for; by default all')
    .option('--expires <when>', 'until when it counts: 90d, or 2027-01-31T12:00:00Z')
    .addOption(
      new Option('--admin', 'make it in the database itself').conflicts([
        'role',
        'project',
        'expires',
      ]),
    )
    .addOption(databaseOption())
    .action(async (flags: ApiKeyCreateFlags) => {
      if (flags.admin === true) {
        const { createAdmin } = await import('../database/api-key-admin.ts')
        return createAdmin(terminal, flags)
      }
      const { createApiKey } = await import('../admin/api-keys.ts')
      return createApiKey(terminal, flags)
    })
}

function registerReads(apiKey: Command, terminal: Terminal): void {
  addApiCommand(apiKey, {
    usage: 'list',
    description: 'list the API keys, without their secrets',
    notes:
      'In a pipe: id, name, role, projectId, state, prefix, lastUseTime, expireTime, with tabs between them.',
    examples: ['pubring api-key list'],
  }).action(async (flags: ConnectionFlags) => {
    const { listApiKeys } = await import('../admin/api-keys.ts')
    await listApiKeys(terminal, flags)
  })
  addApiCommand(apiKey, {
    usage: 'show',
    description: 'show an API key; by default the one that asks',
    examples: ['pubring api-key show'],
  })
    .argument('[api-key]', whichApiKey)
    .action(async (given: string | undefined, flags: ConnectionFlags) => {
      const { showApiKey } = await import('../admin/api-keys.ts')
      await showApiKey(terminal, given, flags)
    })
}

function registerChanges(apiKey: Command, terminal: Terminal): void {
  addApiCommand(apiKey, {
    usage: 'rename',
    description: 'give an API key another name',
    examples: ['pubring api-key rename ID "deploy pipeline, Berlin"'],
  })
    .argument('<api-key>', whichApiKey)
    .argument('<name>', 'the new name')
    .action(async (given: string, name: string, flags: ConnectionFlags) => {
      const { renameApiKey } = await import('../admin/api-keys.ts')
      await renameApiKey(terminal, given, name, flags)
    })
  addApiCommand(apiKey, {
    usage: 'role',
    description: 'change what an API key may do',
    examples: ['pubring api-key role "deploy pipeline" reader'],
  })
    .argument('<api-key>', whichApiKey)
    .argument('<role>', roles.join(', '))
    .action(async (given: string, role: string, flags: ConnectionFlags) => {
      const { changeRole } = await import('../admin/api-keys.ts')
      await changeRole(terminal, given, role, flags)
    })
}

function registerEnds(apiKey: Command, terminal: Terminal): void {
  addApiCommand(apiKey, {
    usage: 'revoke',
    description: 'let an API key count no more, from the next request on; it stays in the list',
    examples: ['pubring api-key revoke "deploy pipeline" --yes'],
  })
    .argument('<api-key>', whichApiKey)
    .addOption(yesOption())
    .action(async (given: string, flags: ConfirmedFlags) => {
      const { revokeApiKey } = await import('../admin/api-keys.ts')
      await revokeApiKey(terminal, given, flags)
    })
  addApiCommand(apiKey, {
    usage: 'delete',
    description: 'revoke an API key and take it off the list, for good',
    examples: ['pubring api-key delete "deploy pipeline" --yes'],
  })
    .argument('<api-key>', whichApiKey)
    .addOption(yesOption())
    .action(async (given: string, flags: ConfirmedFlags) => {
      const { deleteApiKey } = await import('../admin/api-keys.ts')
      await deleteApiKey(terminal, given, flags)
    })
}
