import { type Command, Option } from 'commander'
import { grantableRoles } from '../../contract/trust/policies.ts'
import { trustPresets } from '../../contract/trust/presets.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { addApiCommand, addGroup, addProjectCommand, sessionAction, yesOption } from './options.ts'

const refHelp = 'Id of the trust policy, or its name if unique'

const loadPolicies = () => import('../admin/trust-policies.ts')

/** Long because it is a list. */
export function registerTrustPolicies(program: Command, terminal: Terminal): void {
  const policy = addGroup(program, 'trust-policy', 'Manage which workloads need no stored API key')
  const create = addProjectCommand(policy, 'create', 'Trust the tokens of a platform', {
    notes:
      'Their holders exchange them for API keys of minutes: see docs/trust-policies.md. A preset looks up the ids of a public repository, which never change, and adds the conditions that are usually wanted, such as the branch main; --condition replaces them. The role is registrar unless another one is named.',
    examples: [
      'pubring trust-policy create --github acme/orders --project payments',
      'pubring trust-policy create --issuer https://oidc.example.com --name orders --condition sub=system:serviceaccount:payments:orders',
    ],
  })
  for (const { platform, subject, title } of trustPresets) {
    create.option(`--${platform} <${subject}>`, `Preset for ${title}`)
  }
  addMembers(create.option('--issuer <iss>', 'The iss of the tokens'))
    .option('--all-projects', 'For all projects in place of one')
    .action(sessionAction(terminal, async () => (await loadPolicies()).createPolicy))
  addApiCommand(policy, 'list', 'List the trust policies', {
    notes: 'In a pipe: id, name, issuer, role, projectId, state, lastExchangeTime, tab-separated.',
    examples: ['pubring trust-policy list'],
  }).action(sessionAction(terminal, async () => (await loadPolicies()).listPolicies))
  addApiCommand(policy, 'show', 'Show a trust policy', {
    examples: ['pubring trust-policy show acme/orders'],
  })
    .argument('<policy>', refHelp)
    .action(sessionAction(terminal, async () => (await loadPolicies()).showPolicy))
  const update = addApiCommand(policy, 'update', 'Change a trust policy', {
    notes:
      'Every change but that of the name ends the API keys that were exchanged under it, with the next request.',
    examples: [
      'pubring trust-policy update acme/orders --condition ref=refs/heads/release',
      'pubring trust-policy update acme/orders --deactivate',
    ],
  }).argument('<policy>', refHelp)
  addMembers(update)
    .option('--no-single-use', 'Accept a token several times')
    .option('--remove-condition <claim...>', 'Conditions to remove')
    .option('--activate', 'Accept tokens again')
    .addOption(new Option('--deactivate', 'Refuse all tokens').conflicts('activate'))
    .action(sessionAction(terminal, async () => (await loadPolicies()).updatePolicy))
  addApiCommand(policy, 'delete', 'Delete a trust policy; ends its API keys', {
    examples: ['pubring trust-policy delete acme/orders --yes'],
  })
    .argument('<policy>', refHelp)
    .addOption(yesOption())
    .action(sessionAction(terminal, async () => (await loadPolicies()).deletePolicy))
  addApiCommand(policy, 'check', 'Explain why a trust policy accepts a token or not', {
    notes: 'Exits with 1 if it does not. Nothing is issued, and the token is not stored.',
    examples: ['pubring trust-policy check acme/orders < token.txt'],
  })
    .argument('<policy>', refHelp)
    .argument('[file]', 'The file with the token; - reads standard input', '-')
    .action(sessionAction(terminal, async () => (await loadPolicies()).checkPolicy))
}

/** The options of the members that can be set at creation and changed later. */
function addMembers(command: Command): Command {
  return command
    .option('-n, --name <name>', 'Name; default: that of the preset')
    .option(
      '-c, --condition <claim=value...>',
      'What the token must say; := for a number or boolean',
    )
    .addOption(new Option('-r, --role <role>', 'Role of the API keys').choices(grantableRoles))
    .option('--audience <aud>', 'The aud of the tokens; default: the public URL of the server')
    .option('--jwks-uri <url>', 'Where the keys of the issuer are, if it has no discovery')
    .option('--jwks-file <file>', 'JWKS with its keys, if the server cannot reach it')
    .option('--max-lifetime <time>', 'How long an API key is valid at most: 60s to 15m')
    .option('--single-use', 'Accept each token once')
}
