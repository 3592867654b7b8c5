import { type Command, Option } from 'commander'
import { roles } from '../../contract/roles.ts'
import type { ApiKeyCreateFlags } from '../admin/api-keys.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { addApiCommand, addGroup, databaseOption, lazyAction, yesOption } from './options.ts'

const refHelp = 'Id of the API key, or its name if unique'

export function registerApiKeys(program: Command, terminal: Terminal): void {
  const apiKey = addGroup(program, 'api-key', 'Manage API keys')
  registerCreate(apiKey, terminal)
  registerReads(apiKey, terminal)
  registerChanges(apiKey, terminal)
  registerRemovals(apiKey, terminal)
}

function registerCreate(apiKey: Command, terminal: Terminal): void {
  addApiCommand(apiKey, {
    name: 'create',
    description: 'Create an API key and print its secret, which is shown only once',
    notes: [
      'The server creates it, for one project with --project, otherwise for all projects.',
      'With --admin it is created in the database directly, with or without a running server and without an API key. It is always an admin of all projects. Use it to regain access.',
    ].join('\n\n'),
    examples: [
      'pubring api-key create --name "deploy pipeline" --role writer --project payments > deploy.key',
      'export PUBRING_API_KEY=$(pubring api-key create --admin --name "recovery")',
    ],
  })
    .option('-n, --name <name>', 'Name in the list of API keys')
    .addOption(new Option('-r, --role <role>', 'What it may do').choices(roles))
    .option('-p, --project <id-or-name>', 'Restrict it to one project; default: all')
    .option('--expires <when>', 'When it expires: 90d, or 2027-01-31T12:00:00Z')
    .addOption(
      new Option('--admin', 'Create an admin API key in the database directly').conflicts([
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
    name: 'list',
    description: 'List the API keys, without their secrets',
    notes:
      'In a pipe: id, name, role, projectId, state, prefix, lastUseTime, expireTime, tab-separated.',
    examples: ['pubring api-key list'],
  }).action(lazyAction(terminal, async () => (await import('../admin/api-keys.ts')).listApiKeys))
  addApiCommand(apiKey, {
    name: 'show',
    description: 'Show an API key, by default the one in use',
    examples: ['pubring api-key show'],
  })
    .argument('[api-key]', refHelp)
    .action(lazyAction(terminal, async () => (await import('../admin/api-keys.ts')).showApiKey))
}

function registerChanges(apiKey: Command, terminal: Terminal): void {
  addApiCommand(apiKey, {
    name: 'rename',
    description: 'Rename an API key',
    examples: ['pubring api-key rename ID "deploy pipeline, Berlin"'],
  })
    .argument('<api-key>', refHelp)
    .argument('<name>', 'The new name')
    .action(lazyAction(terminal, async () => (await import('../admin/api-keys.ts')).renameApiKey))
  addApiCommand(apiKey, {
    name: 'role',
    description: 'Change the role of an API key',
    examples: ['pubring api-key role "deploy pipeline" reader'],
  })
    .argument('<api-key>', refHelp)
    .argument('<role>', roles.join(', '))
    .action(lazyAction(terminal, async () => (await import('../admin/api-keys.ts')).changeRole))
}

function registerRemovals(apiKey: Command, terminal: Terminal): void {
  addApiCommand(apiKey, {
    name: 'revoke',
    description: 'Revoke an API key; takes effect with the next request',
    notes: 'A revoked API key stays in the list.',
    examples: ['pubring api-key revoke "deploy pipeline" --yes'],
  })
    .argument('<api-key>', refHelp)
    .addOption(yesOption())
    .action(lazyAction(terminal, async () => (await import('../admin/api-keys.ts')).revokeApiKey))
  addApiCommand(apiKey, {
    name: 'delete',
    description: 'Revoke an API key and remove it from the list permanently',
    examples: ['pubring api-key delete "deploy pipeline" --yes'],
  })
    .argument('<api-key>', refHelp)
    .addOption(yesOption())
    .action(lazyAction(terminal, async () => (await import('../admin/api-keys.ts')).deleteApiKey))
}
