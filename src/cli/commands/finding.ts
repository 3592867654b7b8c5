import type { Command } from 'commander'
import type { Terminal } from '../terminal/terminal.ts'
import { addApiCommand, sessionAction } from './options.ts'

const load = () => import('../admin/finding.ts')

export function registerFinding(program: Command, terminal: Terminal): void {
  addApiCommand(program, 'search', 'Find a key, project, API key or request in all projects', {
    notes:
      'Finds kids (8 characters suffice), published kids, thumbprints, hashes of public keys, the beginning of labels and names, and request ids. Deleted keys are found by their kid. In a pipe: type, id, name, project, state, matched, tab-separated.',
    examples: ['pubring search 019ac8f2', 'pubring search "orders, spring"'],
  })
    .argument('<text>', 'An id, hash, label or name, or its beginning')
    .action(sessionAction(terminal, async () => (await load()).search))
  addApiCommand(program, 'warnings', 'Show what needs attention: expiring keys and the like', {
    notes: 'In a pipe: severity, code, project, name, id, time, detail, tab-separated.',
    examples: ['pubring warnings', 'pubring warnings | grep ^critical'],
  }).action(sessionAction(terminal, async () => (await load()).showWarnings))
}
