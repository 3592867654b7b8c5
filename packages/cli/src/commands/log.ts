import { settings } from '@pubring/server/config/server-settings'
import type { Command } from 'commander'
import type { Terminal } from '../terminal/terminal.ts'
import {
  addApiCommand,
  addCommand,
  addGroup,
  databaseOption,
  lazyAction,
  optionOf,
  sessionAction,
  yesOption,
} from './options.ts'

const loadLog = () => import('../admin/log.ts')

export function registerLog(program: Command, terminal: Terminal): void {
  const log = addGroup(program, 'log', 'Operate the signed log of all ledgers')
  addApiCommand(log, 'checkpoint', 'Sign a checkpoint now and print it', {
    notes: 'The server signs one a minute after changes anyway.',
    examples: ['pubring log checkpoint > checkpoint.txt'],
  }).action(sessionAction(terminal, async () => (await loadLog()).signCheckpoint))
  addApiCommand(
    log,
    'restart',
    'Restart a log that has stopped with a new key, and print its verifier key',
    {
      notes:
        'A log stops if it does not extend what was signed, as after the restore of an older backup. Put a new key in the place of the old one and restart the server first, since the key determines the name of the log. Give the new verifier key to everyone who verifies the log.',
      examples: ['pubring log restart --yes'],
    },
  )
    .addOption(yesOption())
    .action(sessionAction(terminal, async () => (await loadLog()).restartLog))
  addCommand(log, 'key', 'Print the verifier key of the log, from the key file and the database', {
    notes: 'Those who verify the log should get it from you and not from the server.',
    examples: ['pubring log key > log.vkey'],
  })
    .addOption(databaseOption())
    .addOption(optionOf(settings.logKeyFile))
    .addOption(optionOf(settings.publicUrl))
    .action(lazyAction(terminal, async () => (await import('../database/log-key.ts')).printKey))
}
