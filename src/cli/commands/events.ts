import type { Command } from 'commander'
import type { Terminal } from '../terminal/terminal.ts'
import { addProjectCommand, sessionAction } from './options.ts'

export function registerEvents(program: Command, terminal: Terminal): void {
  addProjectCommand(program, 'events', 'Show who changed what and when: the ledger of a project', {
    notes: [
      '--follow runs until Ctrl-C and survives lost connections; with --json it prints one JSON document per line.',
      'In a pipe: revision, time, type, actor, subject, changes, tab-separated.',
    ].join('\n\n'),
    examples: [
      'pubring events --project payments',
      'pubring events --system --follow --json | jq .type',
    ],
  })
    .option('--system', 'Show the ledger of projects and API keys (admin of all projects only)')
    .option(
      '--after <revision>',
      'Show events after this revision, or REVISION.HASH8 to notice a restored database',
    )
    .option('--limit <number>', 'Maximum number of events; default: all')
    .option('-f, --follow', 'Show new events as they happen')
    .action(sessionAction(terminal, async () => (await import('../admin/events.ts')).showEvents))
}
