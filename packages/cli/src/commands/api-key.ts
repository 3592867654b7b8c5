import { roles } from '@pubring/server/kernel/contract'
import { type Command, Option } from 'commander'
import type { ApiKeyCreateFlags } from '../admin/api-keys.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { parseExpires } from '../terminal/times.ts'
import {
  addApiCommand,
  addGroup,
  addProjectCommand,
  databaseOption,
  sessionAction,
  yesOption,
} from './options.ts'

const refHelp = 'Id of the API key, its end, or its name if unique'

const loadApiKeys = () => import('../admin/api-keys.ts')

/** Long because it is a list. */
export function registerApiKeys(program: Command, terminal: Terminal): void {
  const apiKey = addGroup(program, 'api-key', 'Manage API keys')
  addProjectCommand(apiKey, 'create', 'Create an API key and print its secret, shown only once', {
    notes: [
      'It is for one project, or with --all-projects for all of them.',
      'With --admin, it is written directly to the database, with or without a running server, and no API key is needed. It is an admin of all projects. Use this to regain access.',
    ].join('\n\n'),
    examples: [
      'pubring api-key create --name "deploy pipeline" --role writer --project payments > deploy.key',
      'export PUBRING_API_KEY=$(pubring api-key create --admin --name "recovery")',
    ],
  })
    .option('-n, --name <name>', 'Name in the list of API keys')
    .addOption(new Option('-r, --role <role>', 'What it may do').choices(roles))
    .addOption(new Option('--all-projects', 'For all projects').conflicts('project'))
    .option('--expires <when>', 'When it expires: 90d, or 2027-01-31T12:00:00Z', parseExpires)
    .addOption(
      new Option('--admin', 'Create an admin API key in the database directly').conflicts([
        'role',
        'project',
        'allProjects',
        'expires',
      ]),
    )
    .addOption(databaseOption())
    .action(async (flags: ApiKeyCreateFlags) => {
      if (flags.admin === true) {
        const { createAdmin } = await import('../database/database.ts')
        return createAdmin(terminal, flags)
      }
      const { createApiKey } = await loadApiKeys()
      return createApiKey(terminal, flags)
    })
  addApiCommand(apiKey, 'list', 'List the API keys, without their secrets', {
    notes:
      'In a pipe: id, name, role, projectId, state, prefix, lastUseTime, expireTime, tab-separated.',
    examples: ['pubring api-key list'],
  }).action(sessionAction(terminal, async () => (await loadApiKeys()).listApiKeys))
  addApiCommand(apiKey, 'show', 'Show an API key', {
    notes: 'For the API key in use: pubring whoami.',
    examples: ['pubring api-key show "deploy pipeline"'],
  })
    .argument('<api-key>', refHelp)
    .action(sessionAction(terminal, async () => (await loadApiKeys()).showApiKey))
  addApiCommand(apiKey, 'update', 'Change an API key; takes effect with the next request', {
    notes: 'An inactive API key stays in the list, and can be activated again.',
    examples: [
      'pubring api-key update "deploy pipeline" --role reader',
      'pubring api-key update "deploy pipeline" --active false --yes',
      'pubring api-key update "deploy pipeline" --expires 90d',
    ],
  })
    .argument('<api-key>', refHelp)
    .option('-n, --name <name>', 'The new name')
    .addOption(new Option('-r, --role <role>', 'What it may do').choices(roles))
    .addOption(new Option('--active <state>', 'Whether it is valid').choices(['true', 'false']))
    .option('--expires <when>', 'When it expires: 90d, 2027-01-31T12:00:00Z, or never')
    .addOption(yesOption())
    .action(sessionAction(terminal, async () => (await loadApiKeys()).updateApiKey))
  addApiCommand(
    apiKey,
    'delete',
    'Delete an API key permanently; takes effect with the next request',
    {
      examples: ['pubring api-key delete "deploy pipeline" --yes'],
    },
  )
    .argument('<api-key>', refHelp)
    .addOption(yesOption())
    .action(sessionAction(terminal, async () => (await loadApiKeys()).deleteApiKey))
}
