import type { Command } from 'commander'
import type { Terminal } from '../terminal/terminal.ts'
import { addGroup, addProjectCommand, sessionAction } from './options.ts'

const load = () => import('../keys/uses.ts')

export function registerKeyUses(program: Command, terminal: Terminal): void {
  const uses = addGroup(program, 'key-uses', 'Report which keys verifiers see in use')
  addProjectCommand(uses, 'report', 'Report the keys that the log of a gateway names', {
    notes:
      'Each line of the log has kid=KID of an accepted token, or kid=-, and if possible exp=SECONDS and a time (RFC 3339); JSON works too. Run it as often as --interval says, with the lines since the last time. Takes an API key of the role reader.',
    examples: [
      'journalctl -u haproxy --since -1h -o cat | pubring key-uses report --as edge',
      'pubring key-uses report access.log --as edge --interval 1d',
    ],
  })
    .argument('[file]', 'The log; - reads standard input', '-')
    .requiredOption('--as <name>', 'The name of the verifier: a-z, 0-9 and hyphens')
    .option(
      '--interval <time>',
      'How often it reports: after three times as long it counts as silent',
      '1h',
    )
    .action(sessionAction(terminal, async () => (await load()).reportUses))
  addProjectCommand(uses, 'list', 'List the verifiers that report', {
    notes: 'In a pipe: name, state, last report, since when without a gap, tab-separated.',
    examples: ['pubring key-uses list'],
  }).action(sessionAction(terminal, async () => (await load()).listReporters))
  addProjectCommand(uses, 'verifiers', 'List who has fetched the key set, as seen by one replica', {
    notes:
      'After a revocation, those with an older key set may still accept the key. In a pipe: user agent, current or older, last fetch, held requests, tab-separated.',
    examples: ['pubring key-uses verifiers'],
  }).action(sessionAction(terminal, async () => (await load()).listVerifiers))
  addProjectCommand(uses, 'remove', 'Remove a verifier that no longer reports', {
    examples: ['pubring key-uses remove edge'],
  })
    .argument('<name>', 'The name of the verifier')
    .action(sessionAction(terminal, async () => (await load()).removeReporter))
}
