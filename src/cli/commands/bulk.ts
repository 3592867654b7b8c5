import { type Command, Option } from 'commander'
import type { Terminal } from '../terminal/terminal.ts'
import { addProjectCommand, sessionAction, yesOption } from './options.ts'

/** Long because it is a list. */
export function registerBulk(program: Command, terminal: Terminal): void {
  addProjectCommand(program, 'import', 'Register many public keys, all or none', {
    notes:
      'The source is a file (PEM blocks, a JWKS, certificates by kid or an export), a folder of such files, the https address of a key set, or - for standard input. The label of each key is its kid, its comment or the name of its file. The kid of a key set stays the published kid; an API key with the role admin for all projects restores an export with its ids and times. Keys that are already registered are skipped. If the source contains a private key, nothing is sent.',
    examples: [
      'pubring import keys.pem --dry-run',
      'pubring import https://login.example.com/jwks.json --project payments',
      'pubring export --all > keys.json && pubring import keys.json --all --profile other',
    ],
  })
    .argument('<source>', 'File, folder, https address, or - for standard input')
    .addOption(
      new Option(
        '--all',
        'Import all projects of an export; create missing ones with their ids',
      ).conflicts('project'),
    )
    .option('-a, --algorithm <name>', 'Algorithm of keys that fit it and have none in the source')
    .option('--label-prefix <text>', 'Prefix for every label')
    .option('--skip-refused', 'Import the other keys if some are rejected')
    .option('--dry-run', 'Show what would be imported, and import nothing')
    .option('--allow-http', 'Allow the address of a key set to be http')
    .action(sessionAction(terminal, async () => (await import('../import/run.ts')).importSource))
  addProjectCommand(program, 'export', 'Write the keys of one project or of all to stdout', {
    notes:
      'json contains everything that import needs to restore the keys. jwks is the key set that verifiers get, pem the bare keys.',
    examples: ['pubring export > payments.json', 'pubring export --all > everything.json'],
  })
    .addOption(
      new Option('--all', 'Export all projects that the API key can access').conflicts('project'),
    )
    .addOption(
      new Option('--format <format>', 'Output format')
        .choices(['json', 'jwks', 'pem'])
        .default('json'),
    )
    .action(sessionAction(terminal, async () => (await import('../import/export.ts')).exportKeys))
  addProjectCommand(program, 'apply', "Make a project's keys match a file", {
    notes:
      'The plan is shown first, as a diff. A project that does not exist is created. Keys that are not in the file stay, unless --prune is set. If the file leaves out active or expireTime, that value is not changed. A key that was deleted is not registered again without --restore-deleted. The last active key is never removed without --yes. With --dry-run, the exit code is 2 if the project differs from the file.',
    examples: ['pubring apply keys.yaml --dry-run', 'pubring apply keys.yaml --prune --yes'],
  })
    .argument('<file>', 'The declaration, as YAML or JSON; - reads standard input')
    .option('--prune', 'Deactivate and delete keys that are not in the file')
    .option('--restore-deleted', 'Register keys of the file again that were deleted')
    .option('--dry-run', 'Show the plan, and change nothing')
    .addOption(yesOption())
    .action(sessionAction(terminal, async () => (await import('../import/apply.ts')).applyFile))
}
