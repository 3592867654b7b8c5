import { type Command, Option } from 'commander'
import type { ApplyFlags } from '../import/apply.ts'
import type { ExportFlags } from '../import/export.ts'
import type { ImportFlags } from '../import/run.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { addApiCommand, yesOption } from './options.ts'

export function registerBulk(program: Command, terminal: Terminal): void {
  registerImport(program, terminal)
  registerExport(program, terminal)
  registerApply(program, terminal)
}

function registerImport(program: Command, terminal: Terminal): void {
  addApiCommand(program, {
    usage: 'import',
    description: 'register many public keys, all or none',
    project: true,
    notes: [
      'The source is a file (PEM blocks, a JWKS, what export wrote), a folder of such files, the https address',
      'of a key set, or - for standard input. Names come from kid, comment or file. A second run adds only what',
      'is missing. One private key in the source, and nothing is sent.',
    ].join('\n'),
    examples: [
      'pubring import keys.pem --dry-run',
      'pubring import https://login.example.com/jwks.json --project payments',
      'pubring export --all > keys.json && pubring import keys.json --all --profile other',
    ],
  })
    .argument('<source>', 'file, folder, https address, or - for standard input')
    .option('--all', 'the keys of an export go to the projects of their names, made where missing')
    .option('-a, --algorithm <name>', 'for keys that it fits and of which the source names none')
    .option('--name-prefix <text>', 'put it before every name')
    .addOption(
      new Option(
        '--kids <which>',
        'kids and times: keep (admin) or new; by default those of an export are kept',
      ).choices(['keep', 'new']),
    )
    .option('--skip-refused', 'import the others where some are refused')
    .option('--dry-run', 'only say what would happen')
    .option('--allow-http', 'fetch a key set by plain http, too')
    .action(async (source: string, flags: ImportFlags) => {
      const { importSource } = await import('../import/run.ts')
      await importSource(terminal, source, flags)
    })
}

function registerExport(program: Command, terminal: Terminal): void {
  addApiCommand(program, {
    usage: 'export',
    description: 'write the keys of a project, or of all, to stdout',
    project: true,
    notes:
      'json and csv hold all that import needs to bring the keys back; jwks is what verifiers see, pem the bare keys.',
    examples: ['pubring export > payments.json', 'pubring export --all --format csv > keys.csv'],
  })
    .option('--all', 'the keys of all projects that the API key may see')
    .addOption(
      new Option('--format <format>', 'how to write them')
        .choices(['json', 'jwks', 'pem', 'csv'])
        .default('json'),
    )
    .action(async (flags: ExportFlags) => {
      const { exportKeys } = await import('../import/export.ts')
      await exportKeys(terminal, flags)
    })
}

function registerApply(program: Command, terminal: Terminal): void {
  addApiCommand(program, {
    usage: 'apply',
    description: "make a project's keys match a file",
    project: true,
    notes:
      'The plan is shown first. Keys that the file does not have stay, unless --prune is given. The last active\nkey is never taken away without --yes.',
    examples: ['pubring apply keys.json --dry-run', 'pubring apply keys.json --prune --yes'],
  })
    .argument('<file>', 'the declaration, as JSON; - reads standard input')
    .option('--prune', 'switch off and delete the keys that the file does not have')
    .option('--dry-run', 'show the plan and end')
    .addOption(yesOption())
    .action(async (file: string, flags: ApplyFlags) => {
      const { applyFile } = await import('../import/apply.ts')
      await applyFile(terminal, file, flags)
    })
}
