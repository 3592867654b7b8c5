import type { Command } from 'commander'
import type { AuditFlags } from '../database/audit.ts'
import type { DatabaseFlags } from '../database/flags.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { addCommand, addGroup, databaseOption, jsonOption } from './options.ts'

export function registerDatabase(program: Command, terminal: Terminal): void {
  registerMigrate(program, terminal)
  registerCopy(program, terminal)
  registerBackup(program, terminal)
  registerCheck(program, terminal)
  registerLedger(program, terminal)
  registerAudit(program, terminal)
}

function registerMigrate(program: Command, terminal: Terminal): void {
  addCommand(program, {
    usage: 'migrate',
    description: 'bring the schema of the database up to date, as a start does, and end',
    examples: ['pubring migrate && pubring serve'],
  })
    .addOption(jsonOption())
    .addOption(databaseOption())
    .action(async (flags: DatabaseFlags) => {
      const command = await import('../database/migrate.ts')
      await command.migrate(terminal, flags)
    })
}

function registerCopy(program: Command, terminal: Terminal): void {
  addCommand(program, {
    usage: 'copy',
    description: 'copy everything to an empty database, of the same kind or not, and check it',
    notes:
      'End the servers first: what they write meanwhile is not copied. The password of PostgreSQL is taken from the address, PUBRING_DATABASE_PASSWORD, PUBRING_DATABASE_PASSWORD_FILE or PGPASSWORD.',
    examples: [
      'pubring copy --from sqlite:./data/pubring.db --to postgres://pubring@db.example.com/pubring',
    ],
  })
    .requiredOption('--from <url>', 'the database that is read: sqlite:PATH or postgres://…')
    .requiredOption(
      '--to <url>',
      'the database that is written: empty, or with the same in it already',
    )
    .addOption(jsonOption())
    .action(async (flags: { from: string; to: string; json?: true }) => {
      const command = await import('../database/copy.ts')
      await command.copy(terminal, flags)
    })
}

function registerBackup(program: Command, terminal: Terminal): void {
  addCommand(program, {
    usage: 'backup',
    description: 'copy the database to a file, whether a server runs or not',
    examples: ['pubring backup "pubring-$(date +%F).db"'],
  })
    .argument('<file>', 'where to; it must not be there yet')
    .option('--force', 'replace the file where it is there')
    .addOption(jsonOption())
    .addOption(databaseOption())
    .action(async (file: string, flags: DatabaseFlags & { force?: true }) => {
      const command = await import('../database/backup.ts')
      await command.backUp(terminal, file, flags)
    })
  addCommand(program, {
    usage: 'restore',
    description: 'put a backup in the place of the database, once it is found whole',
    notes: 'Stop the server first. What is replaced is kept beside the database.',
    examples: ['pubring restore pubring-2026-01-31.db'],
  })
    .argument('<file>', 'the backup')
    .option('--force', 'also where the database is too damaged to tell whether a server uses it')
    .addOption(jsonOption())
    .addOption(databaseOption())
    .action(async (file: string, flags: DatabaseFlags & { force?: true }) => {
      const command = await import('../database/restore.ts')
      await command.restore(terminal, file, flags)
    })
}

function registerCheck(program: Command, terminal: Terminal): void {
  addCommand(program, {
    usage: 'check',
    description:
      'check the database, or a backup, and its hash chains; exit code 1 where one is broken',
    examples: ['pubring check pubring-2026-01-31.db'],
  })
    .argument('[file]', 'a backup; without it, the database itself')
    .addOption(jsonOption())
    .addOption(databaseOption())
    .action(async (file: string | undefined, flags: DatabaseFlags) => {
      const command = await import('../database/check.ts')
      await command.check(terminal, file, flags)
    })
}

function registerLedger(program: Command, terminal: Terminal): void {
  const ledger = addGroup(program, 'ledger', 'the record of all changes')
  addCommand(ledger, {
    usage: 'verify',
    description: 'check the hash chain of every ledger; exit code 1 where one is broken',
    examples: ['pubring ledger verify --project default'],
  })
    .option(
      '--project <id-or-name>',
      'the ledger of this project alone, of a deleted one by its id',
    )
    .addOption(jsonOption())
    .addOption(databaseOption())
    .action(async (flags: DatabaseFlags & { project?: string }) => {
      const command = await import('../database/ledger.ts')
      await command.verify(terminal, flags)
    })
}

function registerAudit(program: Command, terminal: Terminal): void {
  addCommand(program, {
    usage: 'audit',
    description: 'examine all registered keys again, more slowly than the intake can',
    notes:
      'Exit code 1 where something is found. An audit that is interrupted goes on when it is run again.',
    examples: ['pubring audit --deactivate'],
  })
    .option('--project <id-or-name>', 'the keys of this project alone, compared with all others')
    .option('--deactivate', 'switch off the keys that are found to be weak')
    .option('--again', 'examine the keys that have passed already, too')
    .addOption(jsonOption())
    .addOption(databaseOption())
    .action(async (flags: AuditFlags) => {
      const command = await import('../database/audit.ts')
      await command.audit(terminal, flags)
    })
}
