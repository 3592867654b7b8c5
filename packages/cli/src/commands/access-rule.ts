import { holders } from '@pubring/server/features/access-rules/contract'
import { platformPresets } from '@pubring/server/features/access-rules/presets'
import { roles } from '@pubring/server/kernel/contract'
import { type Command, Option } from 'commander'
import type { Terminal } from '../terminal/terminal.ts'
import { addApiCommand, addGroup, addProjectCommand, sessionAction, yesOption } from './options.ts'

const refHelp = 'Id of the access rule, its end, or its name if unique'

const loadRules = () => import('../admin/access-rules.ts')

/** Long because it is a list. */
export function registerAccessRules(program: Command, terminal: Terminal): void {
  const rule = addGroup(program, 'access-rule', 'Manage who has a role without a stored API key')
  const create = addProjectCommand(rule, 'create', 'Give a role to people or workloads', {
    notes:
      'Workloads exchange the tokens of their platform for API keys of minutes: see docs/access-rules.md. A preset looks up the ids of a public repository, which never change, and adds the conditions that are usually wanted, such as the branch main; --condition replaces them. The role of workloads is registrar unless another one is named. People have the role while they are signed in through the OpenID provider of the server: see docs/sign-in.md.',
    examples: [
      'pubring access-rule create --github acme/orders --project payments',
      'pubring access-rule create --issuer https://oidc.example.com --name orders --condition sub=system:serviceaccount:payments:orders',
      'pubring access-rule create --for people --name "platform team" --condition groups=platform --role admin --all-projects',
    ],
  })
  create.addOption(
    new Option('--for <whom>', 'Whom the rule is for').choices(holders).default('workloads'),
  )
  for (const { platform, subject, title } of platformPresets) {
    create.option(`--${platform} <${subject}>`, `Preset for ${title}`)
  }
  addMembers(create.option('--issuer <iss>', 'The iss of the tokens'))
    .option('--all-projects', 'For all projects in place of one')
    .addOption(
      new Option(
        '--self-rotation',
        'Let the keys of the project register their successors',
      ).conflicts(['issuer', 'allProjects', 'condition', 'role']),
    )
    .action(sessionAction(terminal, async () => (await loadRules()).createRule))
  addApiCommand(rule, 'list', 'List the access rules', {
    notes:
      'In a pipe: id, name, for, issuer, role, projectId, state, lastExchangeTime, tab-separated.',
    examples: ['pubring access-rule list'],
  }).action(sessionAction(terminal, async () => (await loadRules()).listRules))
  addApiCommand(rule, 'show', 'Show an access rule', {
    examples: ['pubring access-rule show acme/orders'],
  })
    .argument('<rule>', refHelp)
    .action(sessionAction(terminal, async () => (await loadRules()).showRule))
  const update = addApiCommand(rule, 'update', 'Change an access rule', {
    notes:
      'It takes effect with the next request. Every change but that of the name ends the API keys that were exchanged under it.',
    examples: [
      'pubring access-rule update acme/orders --condition ref=refs/heads/release',
      'pubring access-rule update acme/orders --active false',
    ],
  }).argument('<rule>', refHelp)
  addMembers(update)
    .option('--no-single-use', 'Accept a token several times')
    .option('--remove-condition <claim...>', 'Conditions to remove')
    .addOption(new Option('--active <state>', 'Whether it is applied').choices(['true', 'false']))
    .addOption(yesOption())
    .action(sessionAction(terminal, async () => (await loadRules()).updateRule))
  addApiCommand(rule, 'delete', 'Delete an access rule; ends what it gives', {
    examples: ['pubring access-rule delete acme/orders --yes'],
  })
    .argument('<rule>', refHelp)
    .addOption(yesOption())
    .action(sessionAction(terminal, async () => (await loadRules()).deleteRule))
  addApiCommand(rule, 'check', 'Explain why an access rule gives its role or not', {
    notes: 'Exits with 1 if it does not. Nothing is issued, and the token is not stored.',
    examples: [
      'pubring access-rule check acme/orders < token.txt',
      'pubring access-rule check "platform team" claims.json',
    ],
  })
    .argument('<rule>', refHelp)
    .argument(
      '[file]',
      'The file with a token, or with claims as JSON; - reads standard input',
      '-',
    )
    .action(sessionAction(terminal, async () => (await loadRules()).checkRule))
}

/** The options of the members that can be set at creation and changed later. */
function addMembers(command: Command): Command {
  return command
    .option('-n, --name <name>', 'Name; default: that of the preset')
    .option(
      '-c, --condition <claim=value...>',
      'What the token must say; := for a number or boolean',
    )
    .addOption(new Option('-r, --role <role>', 'The role that it gives').choices(roles))
    .option('--audience <aud>', 'The aud of the tokens; default: the public URL of the server')
    .option('--jwks-uri <url>', 'Where the keys of the issuer are, if it has no discovery')
    .option('--jwks-file <file>', 'JWKS with its keys, if the server cannot reach it')
    .option('--max-lifetime <time>', 'How long an API key is valid at most: 60s to 15m')
    .option('--single-use', 'Accept each token once')
}
