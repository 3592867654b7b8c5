#!/usr/bin/env node
import { enableCompileCache } from 'node:module'
import process from 'node:process'
import { Command, Option } from 'commander'
import type { AuditFlags } from './cli/audit.ts'
import { complain } from './cli/output.ts'
import { loadConfig, settings } from './config.ts'

// What the commands load is compiled once per machine and release, not at every start.
enableCompileCache()

const program = new Command('pubring')
  .description('A registry of JWT public keys: strict intake, live key sets, quick revocation.')
  .showHelpAfterError('(pubring --help lists the commands)')
  .configureOutput({ writeErr: complain })

const serve = program
  .command('serve')
  .description('run the server; every option can be given in the environment instead')
  .addHelpText(
    'after',
    '\nExample:\n  $ PUBRING_PUBLIC_URL=https://keys.example.com pubring serve --port 8080',
  )
for (const setting of Object.values(settings)) {
  const preset = setting.default === undefined ? '' : ` Default: ${setting.default}.`
  const help = `${setting.help}${preset} [${setting.env}]`
  if ('flag' in setting && setting.flag !== undefined) {
    serve.addOption(new Option(`${setting.flag} <value>`, help))
  } else serve.addHelpText('after', `\nEnvironment only:\n  ${setting.env}  ${setting.help}`)
}
serve.action(async (flags: Record<string, string>) => {
  const config = loadConfig(process.env, flags)
  const command = await import('./cli/serve.ts')
  await command.serve(config)
})

/** For the commands that work on the database themselves. */
function databaseOption(): Option {
  const { flag, help, env } = settings.databaseUrl
  return new Option(`${flag} <value>`, `${help} Default: ${settings.databaseUrl.default}. [${env}]`)
}

program
  .command('migrate')
  .description('bring the schema of the database up to date, as a start does, and end')
  .addOption(databaseOption())
  .addHelpText('after', '\nExample:\n  $ pubring migrate && pubring serve')
  .action(async (flags: { databaseUrl?: string }) => {
    const command = await import('./cli/migrate.ts')
    await command.migrate(flags)
  })

program
  .command('copy')
  .description('copy everything to an empty database, of the same kind or not, and check it')
  .requiredOption('--from <url>', 'the database that is read: sqlite:PATH or postgres://…')
  .requiredOption(
    '--to <url>',
    'the database that is written: empty, or with the same in it already',
  )
  .addHelpText(
    'after',
    '\nEnd the servers first: what they write meanwhile is not copied. The password of PostgreSQL is taken\nfrom the address, PUBRING_DATABASE_PASSWORD, PUBRING_DATABASE_PASSWORD_FILE or PGPASSWORD.\n\nExample:\n  $ pubring copy --from sqlite:./data/pubring.db --to postgres://pubring@db.example.com/pubring',
  )
  .action(async (flags: { from: string; to: string }) => {
    const command = await import('./cli/copy.ts')
    await command.copy(flags)
  })

program
  .command('api-key')
  .description('who may call the API')
  .command('create')
  .description('make an admin API key in the database itself, whether a server runs or not')
  .requiredOption('--admin', 'for all projects, with the role admin: the only kind made here')
  .option('--name <name>', 'what the list of API keys calls it', 'made at the database')
  .addOption(databaseOption())
  .addHelpText(
    'after',
    '\nExample:\n  $ export PUBRING_API_KEY=$(pubring api-key create --admin --name "way back in")',
  )
  .action(async (flags: { name: string; databaseUrl?: string }) => {
    const command = await import('./cli/api-key.ts')
    await command.createAdmin(flags)
  })

program
  .command('key')
  .description('JWT public keys')
  .command('check')
  .description('say whether a public key would be taken; exit code 1 where it would not')
  .argument('<file>', 'the key as PEM; - reads standard input')
  .option('--algorithm <name>', 'what tokens signed with it will carry as alg')
  .option('--json', 'print one JSON document')
  .addHelpText('after', '\nExample:\n  $ pubring key check key.pem --algorithm RS256')
  .action(async (file: string, flags: { algorithm?: string; json?: true }) => {
    const command = await import('./cli/key-check.ts')
    command.check(file, flags)
  })

program
  .command('audit')
  .description('examine all registered keys again, more slowly than the intake can')
  .option('--project <id-or-name>', 'the keys of this project alone, compared with all others')
  .option('--deactivate', 'switch off the keys that are found to be weak')
  .option('--again', 'examine the keys that have passed already, too')
  .option('--json', 'print one JSON document')
  .addOption(databaseOption())
  .addHelpText(
    'after',
    '\nExit code 1 where something is found. An audit that is interrupted goes on when it is run again.\n\nExample:\n  $ pubring audit --deactivate',
  )
  .action(async (flags: AuditFlags) => {
    const command = await import('./cli/audit.ts')
    await command.audit(flags)
  })

program
  .command('ledger')
  .description('the record of all changes')
  .command('verify')
  .description('check the hash chain of every ledger; exit code 1 where one is broken')
  .option('--project <id-or-name>', 'the ledger of this project alone, of a deleted one by its id')
  .addOption(databaseOption())
  .addHelpText('after', '\nExample:\n  $ pubring ledger verify --project default')
  .action(async (flags: { project?: string; databaseUrl?: string }) => {
    const command = await import('./cli/ledger.ts')
    await command.verify(flags)
  })

program
  .command('backup')
  .description('copy the database to a file, whether a server runs or not')
  .argument('<file>', 'where to; it must not be there yet')
  .option('--force', 'replace the file where it is there')
  .addOption(databaseOption())
  .addHelpText('after', '\nExample:\n  $ pubring backup "pubring-$(date +%F).db"')
  .action(async (file: string, flags: { force?: true; databaseUrl?: string }) => {
    const command = await import('./cli/backup.ts')
    await command.backUp(file, flags)
  })

program
  .command('restore')
  .description('put a backup in the place of the database, once it is found whole')
  .argument('<file>', 'the backup')
  .option('--force', 'also where the database is too damaged to tell whether a server uses it')
  .addOption(databaseOption())
  .addHelpText(
    'after',
    '\nStop the server first. What is replaced is kept beside the database.\n\nExample:\n  $ pubring restore pubring-2026-01-31.db',
  )
  .action(async (file: string, flags: { force?: true; databaseUrl?: string }) => {
    const command = await import('./cli/restore.ts')
    await command.restore(file, flags)
  })

program
  .command('check')
  .description(
    'check the database, or a backup, and its hash chains; exit code 1 where one is broken',
  )
  .argument('[file]', 'a backup; without it, the database itself')
  .addOption(databaseOption())
  .addHelpText('after', '\nExample:\n  $ pubring check pubring-2026-01-31.db')
  .action(async (file: string | undefined, flags: { databaseUrl?: string }) => {
    const command = await import('./cli/check.ts')
    await command.check(file, flags)
  })

try {
  await program.parseAsync()
} catch (error) {
  complain(`pubring: ${error instanceof Error ? error.message : String(error)}\n`)
  process.exit(1)
}
