import { loadConfig, settings } from '@pubring/server/config/server-settings'
import type { Setting } from '@pubring/server/config/setting'
import { type Command, Option } from 'commander'
import type { Terminal } from '../terminal/terminal.ts'
import {
  addCommand,
  addGroup,
  addProjectCommand,
  databaseOption,
  describeCommand,
  lazyAction,
  optionOf,
  sessionAction,
  yesOption,
} from './options.ts'

const serverSettings: readonly Setting<unknown>[] = Object.values(settings)

export function registerServe(program: Command, terminal: Terminal): void {
  const rare = serverSettings.filter((setting) => groupOf(setting) === undefined)
  const names = rare.map(({ flag, env }) => flag ?? env).join(', ')
  const serve = describeCommand(program, 'serve', 'Run the server', {
    notes: `Every option can be set by its environment variable instead. docs/configuration.md explains all settings. Further ones are ${names}.`,
    examples: ['PUBRING_PUBLIC_URL=https://keys.example.com pubring serve --port 8080'],
  })
  addSettings(serve)
  serve.action(async (flags: Record<string, string>) => {
    const load = () => loadConfig(terminal.env, flags)
    // Before anything else is loaded, so that a mistake is reported at once.
    load()
    const { serve } = await import('../server/serve.ts')
    await serve(load)
  })
  const doctor = addCommand(program, 'doctor', 'Show whether the server can run, and how it is', {
    notes:
      'Takes the options and variables of serve, asks the server if one runs, and looks at the database; starts nothing and changes nothing. Each line says what to do. Exits with 1 if something is wrong. With --url, it looks at that server, and at the database if its address is set.',
    examples: ['pubring doctor', 'pubring doctor --url https://keys.example.com --json'],
  }).option('--url <url>', 'Look at the server at this address, instead of this machine')
  addSettings(doctor, { isHidden: true })
  doctor.action(lazyAction(terminal, async () => (await import('../server/doctor.ts')).diagnose))
}

/** The headings of the settings that help explains, by their options. */
const settingGroups: readonly [heading: string, flags: RegExp][] = [
  ['Address and database:', /^--(?:host|port|public-url|trust-proxy|database-(?:url|pass)|admin)/],
  ['Sign-in of people:', /^--oidc-(?:issuer|client)/],
]

function groupOf({ flag }: Setting<unknown>): string | undefined {
  return settingGroups.find(([, flags]) => flags.test(flag ?? ''))?.[0]
}

function addSettings(command: Command, { isHidden = false } = {}): void {
  for (const setting of serverSettings.filter(({ flag }) => flag !== undefined)) {
    const heading = groupOf(setting) ?? ''
    command.addOption(
      optionOf(setting)
        .helpGroup(heading)
        .hideHelp(isHidden || heading === ''),
    )
  }
}

/** Long because it is a list. */
export function registerDatabase(program: Command, terminal: Terminal): void {
  addCommand(program, 'migrate', 'Migrate the database to the schema of this release', {
    notes: 'serve does the same at startup.',
    examples: ['pubring migrate && pubring serve'],
  })
    .addOption(databaseOption())
    .action(lazyAction(terminal, async () => (await import('../database/database.ts')).migrate))
  addCommand(program, 'copy', 'Copy the registry to an empty database, and compare the two', {
    notes:
      'The databases may be of different engines. One snapshot is copied; exits with 1 if the source has changed since, so stop the servers first. The PostgreSQL password comes from the address, PUBRING_DATABASE_PASSWORD_FILE or PGPASSFILE.',
    examples: [
      'pubring copy --from sqlite:./data/pubring.db --to postgres://pubring@db.example.com/pubring',
    ],
  })
    .requiredOption('--from <url>', 'The source: sqlite:PATH or postgres://…')
    .requiredOption('--to <url>', 'The target: an empty database, or an earlier copy of the source')
    .action(lazyAction(terminal, async () => (await import('../database/database.ts')).copy))
  addCommand(program, 'backup', 'Copy the database to a file, with or without a running server', {
    notes:
      'A copy whose ledgers are broken, or contradict its tables, becomes FILE.broken, and the exit code is 1.',
    examples: ['pubring backup "pubring-$(date +%F).db"'],
  })
    .argument('<file>', 'The target, which must not exist')
    .option('--force', 'Replace an existing file')
    .addOption(databaseOption())
    .action(lazyAction(terminal, async () => (await import('../database/backup.ts')).backUp))
  addCommand(program, 'restore', 'Replace the database with a backup that passes all checks', {
    notes:
      'Stop the server first. The keys and API keys that become valid again are listed, and the command asks. The replaced database is kept beside the new one.',
    examples: ['pubring restore pubring-2026-01-31.db'],
  })
    .argument('<file>', 'The backup')
    .option('--force', 'Restore even if the database is too damaged to tell whether it is in use')
    .option('--accept-broken', 'Restore a broken backup as it is, and record that in its ledgers')
    .addOption(yesOption())
    .addOption(databaseOption())
    .action(lazyAction(terminal, async () => (await import('../database/backup.ts')).restore))
  addCommand(
    program,
    'check',
    'Check the database or a backup, and compare its tables with its ledgers',
    {
      notes:
        'Exits with 1 if something is broken. Writes nothing. The pages of PostgreSQL are left to its own tools, and named as not examined.',
      examples: ['pubring check pubring-2026-01-31.db'],
    },
  )
    .argument('[file]', 'A backup; default: the database')
    .addOption(databaseOption())
    .action(lazyAction(terminal, async () => (await import('../database/backup.ts')).check))
  const ledger = addGroup(program, 'ledger', 'Verify the record of all changes')
  addCommand(ledger, 'verify', 'Verify every hash chain, and that the tables are what they say', {
    notes: [
      'Exits with 1 if a chain is broken, a row contradicts its ledger, or something contradicts the log.',
      'With --file, it verifies an exported ledger, without a database or a server: the events of pubring ledger export are compared with their proof, and the proof with the verifier key of the log (pubring log key). With --log, it also reads all entries of the log, finds heads of the ledger that contradict each other, and verifies that the key set at the public address is the one that the log has last; if that has keys that the log does not have yet, it asks again after 130 s. Without a key set there, it exits with 1, unless the project was deleted.',
    ].join('\n\n'),
    examples: [
      'pubring ledger verify --project default',
      'pubring ledger verify --file payments.jsonl --proof payments.tlog-proof --log-key "$VKEY"',
    ],
  })
    .option(
      '--project <id-or-name>',
      'Verify the ledger of one project only; a deleted project by its id',
    )
    .addOption(
      new Option('--file <file>', 'Verify an exported ledger, without a database').conflicts([
        'project',
        'databaseUrl',
      ]),
    )
    .option('--proof <file>', 'The proof of the export')
    .option('--log-key <vkey>', 'The verifier key of the log')
    .option('--witness-key <vkey...>', 'Verifier keys of witnesses that must have cosigned')
    .option('--log <url>', 'The address of the log, to read all its entries: https://HOST/log')
    .option('--since <file>', 'An earlier checkpoint, with --log: nothing before it was rewritten')
    .addOption(databaseOption())
    .action(lazyAction(terminal, async () => (await import('../database/ledger.ts')).verify))
  addProjectCommand(ledger, 'export', 'Write a ledger and its proof to files, for ledger verify', {
    notes:
      'Writes NAME.jsonl with an event per line and NAME.tlog-proof, which shows that the log has them.',
    examples: ['pubring ledger export payments --project payments'],
  })
    .argument('<name>', 'The name of the files, which must not exist')
    .option('--system', 'The ledger of projects and API keys (for admins and auditors of all)')
    .action(
      sessionAction(terminal, async () => (await import('../admin/ledger-export.ts')).exportLedger),
    )
  addCommand(ledger, 'accept', 'Accept what ledger verify calls broken, as it is now', {
    notes:
      'Events record it. Until then a server does not serve what its ledger contradicts. Restore a backup instead, if there is one.',
    examples: ['pubring ledger accept'],
  })
    .addOption(yesOption())
    .addOption(databaseOption())
    .action(lazyAction(terminal, async () => (await import('../database/ledger.ts')).accept))
  addCommand(program, 'audit', 'Examine all registered keys more thoroughly than at registration', {
    notes:
      'Exits with 1 if it finds a weak key, or a ledger that is broken or contradicts its tables. After an interruption, run it again to continue.',
    examples: ['pubring audit --deactivate'],
  })
    .option('--project <id-or-name>', 'Examine one project only, against the keys of all projects')
    .option('--deactivate', 'Deactivate weak keys')
    .option('--again', 'Also examine keys that have passed already')
    .addOption(databaseOption())
    .action(lazyAction(terminal, async () => (await import('../database/audit.ts')).audit))
}
