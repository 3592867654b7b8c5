import { jwsAlgorithmNames } from '@pubring/intake/algorithms'
import { type Command, Option } from 'commander'
import type { Terminal } from '../terminal/terminal.ts'
import { parseExpires } from '../terminal/times.ts'
import { addGroup, addProjectCommand, sessionAction, yesOption } from './options.ts'

const loadLinks = () => import('../admin/registration-links.ts')

export function registerRegistrationLinks(program: Command, terminal: Terminal): void {
  const link = addGroup(
    program,
    'registration-link',
    'Manage links by which people outside register keys',
  )
  addProjectCommand(link, 'create', 'Create a registration link and print its address', {
    notes:
      'Whoever opens it first registers keys of the project in that browser, until it expires. The keys wait until you activate them, unless --new-keys says otherwise.',
    examples: [
      'pubring registration-link create --project payments --note "ACME Corp, orders API"',
      'pubring registration-link create --note "ACME Corp" --expires 2d --algorithm ES256 EdDSA',
    ],
  })
    .requiredOption('-n, --note <text>', 'For whom it is, and what is wanted; they read it too')
    .option(
      '--expires <when>',
      'When it ends: 2d, or a time. Default: 7d; at most 30d',
      parseExpires,
    )
    .addOption(
      new Option('--new-keys <state>', 'What its keys are. Default: inactive').choices([
        'inactive',
        'active',
      ]),
    )
    .addOption(
      new Option('--algorithm <names...>', 'Algorithms that it accepts. Default: all').choices(
        jwsAlgorithmNames,
      ),
    )
    .option('--return-url <url>', 'Where its page leads back to (see PUBRING_RETURN_ORIGINS)')
    .action(sessionAction(terminal, async () => (await loadLinks()).createLink))
  addProjectCommand(link, 'list', 'List the links, without their addresses, newest first', {
    notes: 'In a pipe: id, note, state, number of keys, expireTime, tab-separated.',
    examples: ['pubring registration-link list'],
  }).action(sessionAction(terminal, async () => (await loadLinks()).listLinks))
  addProjectCommand(link, 'delete', 'Revoke a link, and end the session of its browser', {
    examples: ['pubring registration-link delete "ACME Corp" --yes'],
  })
    .argument('<link>', 'Id of the link, its end, or its note if unique')
    .addOption(yesOption())
    .action(sessionAction(terminal, async () => (await loadLinks()).deleteLink))
}
