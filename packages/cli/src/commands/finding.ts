import { type Command, Option } from 'commander'
import type { Terminal } from '../terminal/terminal.ts'
import { addApiCommand, addProjectCommand, sessionAction } from './options.ts'

const load = () => import('../admin/finding.ts')

/** Long because it is a list. */
export function registerFinding(program: Command, terminal: Terminal): void {
  addProjectCommand(program, 'events', 'Show who changed what and when', {
    notes: [
      'Shows the ledger of a project, or with --system or --all others. --all begins with the newest event.',
      '--follow runs until Ctrl-C and survives lost connections; with --json it prints one JSON document per line.',
      'In a pipe: revision, time, type, actor, subject, changes, tab-separated; with --all, the id of the project comes first.',
    ].join('\n\n'),
    examples: [
      'pubring events --project payments',
      'pubring events --system --follow --json | jq .type',
      'pubring events --type key.updated,key.deleted --since 2026-01-01 --jsonl > changes.jsonl',
      'pubring events --all --person ada@example.com --since 7d',
    ],
  })
    .addOption(
      new Option(
        '--system',
        'Show the ledger of projects and API keys (for admins and auditors of all)',
      ).conflicts('project'),
    )
    .addOption(
      new Option(
        '--all',
        'Show the events of all ledgers, also of deleted projects (for admins and auditors of all)',
      ).conflicts(['project', 'system', 'after', 'actor', 'newestFirst', 'follow']),
    )
    .option(
      '--after <revision>',
      'Show events after this revision, or REVISION.HASH8 to notice a restored database',
    )
    .option('--limit <number>', 'Maximum number of events; default: all')
    .option('--type <types>', 'Only events of these types, separated by commas')
    .option(
      '--actor <actor>',
      'Only events by this actor: the id of an API key, session or access rule; the name of an API key, command or person; or the subject of a person or workload',
    )
    .option(
      '--person <person>',
      'With --all: only events by this person: id, name, email or subject',
    )
    .option('--request-id <id>', 'With --all: only events of the request with this id')
    .option('--subject <id>', 'Only events about the key, API key … with this id')
    .option('--since <time>', 'Only events from this time on: 7d (ago), 2026-05-01 or RFC 3339')
    .option('--until <time>', 'Only events before this time')
    .option('--newest-first', 'Begin with the newest event')
    .addOption(
      new Option('--jsonl', 'Export all of them as JSON lines').conflicts(['limit', 'json']),
    )
    .option('-f, --follow', 'Show new events as they happen')
    .action(sessionAction(terminal, async () => (await import('../admin/events.ts')).showEvents))
  addApiCommand(program, 'search', 'Find keys and projects', {
    notes:
      'Finds kids (the first 8 or last 4 characters suffice), published kids, thumbprints, hashes of public keys, OpenSSH fingerprints, labels, and the beginning of names. In a pipe: type, id, name, project, state, matched, tab-separated.',
    examples: ['pubring search 019ac8f2', 'pubring search "orders, spring"'],
  })
    .argument('<text>', 'An id, hash, label or name, or its beginning')
    .action(sessionAction(terminal, async () => (await load()).search))
  addApiCommand(program, 'warnings', 'Show what needs attention: expiring keys and the like', {
    notes: 'In a pipe: severity, code, project, name, id, time, detail, tab-separated.',
    examples: ['pubring warnings', 'pubring warnings | grep ^critical'],
  }).action(sessionAction(terminal, async () => (await load()).showWarnings))
}
