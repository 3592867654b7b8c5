import type { Command } from 'commander'
import type { EventFlags } from '../admin/events.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { addApiCommand } from './options.ts'

export function registerEvents(program: Command, terminal: Terminal): void {
  addApiCommand(program, {
    usage: 'events',
    description: 'show who changed what and when: the ledger of a project',
    project: true,
    notes:
      'With --follow it goes on until Ctrl-C, across cut connections; --json prints one JSON document a line then.\n\nIn a pipe: revision, time, type, actor, subject, changes, with tabs between them.',
    examples: [
      'pubring events --project payments',
      'pubring events --system --follow --json | jq .type',
    ],
  })
    .option('--system', 'the ledger of projects and API keys (for an admin of all projects)')
    .option('--after <revision>', 'events after this revision')
    .option('--limit <number>', 'so many at most; all by default')
    .option('-f, --follow', 'go on with every event as it happens')
    .action(async (flags: EventFlags) => {
      const { showEvents } = await import('../admin/events.ts')
      await showEvents(terminal, flags)
    })
}
